SET LOCAL statement_timeout = 0;

CREATE TABLE alerts (
  org_id           uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id               uuid NOT NULL,
  skill_id         uuid, -- null: every skill, new ones included
  type             text NOT NULL CHECK (type IN ('PASS_RATE_BELOW', 'NO_DATA')),
  threshold        double precision NOT NULL,
  channel          text NOT NULL CHECK (channel IN ('CHAT_A', 'CHAT_B', 'EMAIL', 'WEBHOOK')),
  config           json NOT NULL,
  secret           text, -- signs what a webhook gets
  state            text NOT NULL CHECK (state IN ('OK', 'FIRING', 'RESOLVED', 'DISABLED')),
  disabled_reason  text,
  muted_until      timestamptz,
  failed_incidents integer NOT NULL DEFAULT 0, -- in a row
  due_at           timestamptz NOT NULL,
  created_by       uuid,
  created_at       timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT alerts_skill_fkey FOREIGN KEY (org_id, skill_id) REFERENCES skills,
  FOREIGN KEY (org_id, created_by) REFERENCES members,
  CHECK (threshold >= 0 AND threshold <= CASE type WHEN 'NO_DATA' THEN 90 ELSE 1 END)
);
CREATE INDEX alerts_due ON alerts (due_at) WHERE state <> 'DISABLED';
CREATE INDEX alerts_by_skill ON alerts (org_id, skill_id);

-- A skill that breaks an alert's condition, from then until it no longer does.
CREATE TABLE incidents (
  org_id      uuid NOT NULL,
  id          uuid NOT NULL,
  alert_id    uuid NOT NULL,
  skill_id    uuid NOT NULL,
  value       double precision NOT NULL, -- the pass rate, or the days without data, when it opened
  opened_at   timestamptz NOT NULL,
  reminded_at timestamptz NOT NULL, -- when somebody was last told
  resolved_at timestamptz,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, alert_id) REFERENCES alerts ON DELETE CASCADE,
  FOREIGN KEY (org_id, skill_id) REFERENCES skills
);
CREATE UNIQUE INDEX incidents_open ON incidents (org_id, alert_id, skill_id) WHERE resolved_at IS NULL;
CREATE INDEX incidents_by_alert ON incidents (org_id, alert_id, id);
CREATE INDEX incidents_by_skill ON incidents (org_id, skill_id, id);

-- What somebody is to be told; it is written with what it tells of, and sent by a job.
CREATE TABLE notifications (
  org_id       uuid NOT NULL,
  id           uuid NOT NULL,
  alert_id     uuid NOT NULL,
  incident_id  uuid NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('OPENED', 'REMINDER', 'RESOLVED')),
  value        double precision NOT NULL,
  state        text NOT NULL CHECK (state IN ('PENDING', 'DELIVERED', 'GIVEN_UP')),
  created_at   timestamptz NOT NULL,
  delivered_at timestamptz,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, alert_id) REFERENCES alerts ON DELETE CASCADE,
  FOREIGN KEY (org_id, incident_id) REFERENCES incidents ON DELETE CASCADE
);
CREATE INDEX notifications_by_alert ON notifications (org_id, alert_id, id);
CREATE INDEX notifications_by_incident ON notifications (org_id, incident_id, id);

CREATE TABLE notification_attempts (
  org_id          uuid NOT NULL,
  notification_id uuid NOT NULL,
  number          integer NOT NULL,
  status          integer NOT NULL, -- 0: there was no answer
  message         text NOT NULL,
  at              timestamptz NOT NULL,
  PRIMARY KEY (org_id, notification_id, number),
  FOREIGN KEY (org_id, notification_id) REFERENCES notifications ON DELETE CASCADE
);
