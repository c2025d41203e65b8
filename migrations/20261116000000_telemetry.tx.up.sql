SET LOCAL statement_timeout = 0;

-- Telemetry. Raw records have the keys that clients gave them; a record may arrive before its session does, so there are
-- no foreign keys among them. What readers see are the rollups below, kept in the transaction of the push.

CREATE TABLE skills (
  org_id          uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id              uuid NOT NULL,
  name            text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
  first_seen_at   timestamptz,
  last_seen_at    timestamptz,
  unseen          bigint NOT NULL DEFAULT 0, -- minus the milliseconds of last_seen_at: lists are last seen first, then by name
  unique_sessions bigint NOT NULL DEFAULT 0,
  graded_sessions bigint NOT NULL DEFAULT 0,
  recent_graded   integer NOT NULL DEFAULT 0, -- at most 20: what pass_rate is the mean of
  pass_rate       double precision,
  status          text NOT NULL DEFAULT 'UNKNOWN' CHECK (status IN ('HEALTHY', 'WARNING', 'CRITICAL', 'UNKNOWN')),
  created_at      timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT skills_name_key UNIQUE (org_id, name)
);
CREATE INDEX skills_by_sight ON skills (org_id, unseen, name, id);

CREATE TABLE pushes (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  push_id     uuid NOT NULL,
  received_at timestamptz NOT NULL,
  PRIMARY KEY (org_id, push_id)
);
CREATE INDEX pushes_by_age ON pushes (received_at);

CREATE TABLE sessions (
  org_id            uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  session_id        text NOT NULL,
  user_id           uuid, -- who pushed it first
  platform          text,
  agent_type        text,
  model             text,
  provider          text,
  started_at        timestamptz,
  ended_at          timestamptz,
  completion_status text,
  received_at       timestamptz NOT NULL,
  PRIMARY KEY (org_id, session_id)
);
CREATE INDEX sessions_by_user ON sessions (org_id, user_id);
CREATE INDEX sessions_by_age ON sessions (received_at);

CREATE TABLE prompts (
  org_id        uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  prompt_id     text NOT NULL,
  session_id    text NOT NULL,
  occurred_at   timestamptz NOT NULL,
  prompt_text   text,
  prompt_kind   text,
  is_actionable boolean,
  PRIMARY KEY (org_id, prompt_id)
);
CREATE INDEX prompts_by_session ON prompts (org_id, session_id);
CREATE INDEX prompts_by_age ON prompts USING brin (occurred_at);

CREATE TABLE invocations (
  org_id            uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  invocation_id     text NOT NULL,
  session_id        text NOT NULL,
  skill_id          uuid NOT NULL,
  occurred_at       timestamptz NOT NULL,
  triggered         boolean NOT NULL,
  confidence        double precision,
  invocation_mode   text,
  matched_prompt_id text,
  version_hash      text,
  PRIMARY KEY (org_id, invocation_id)
);
CREATE INDEX invocations_by_session ON invocations (org_id, session_id);
CREATE INDEX invocations_by_age ON invocations USING brin (occurred_at);

CREATE TABLE execution_facts (
  org_id             uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  fact_id            text NOT NULL,
  session_id         text NOT NULL,
  occurred_at        timestamptz NOT NULL,
  total_tool_calls   bigint,
  assistant_turns    bigint,
  errors_encountered bigint,
  input_tokens       bigint,
  output_tokens      bigint,
  duration_ms        bigint,
  PRIMARY KEY (org_id, fact_id)
);
CREATE INDEX execution_facts_by_session ON execution_facts (org_id, session_id);
CREATE INDEX execution_facts_by_age ON execution_facts USING brin (occurred_at);

CREATE TABLE gradings (
  org_id     uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  grading_id text NOT NULL,
  session_id text NOT NULL,
  skill_id   uuid NOT NULL,
  graded_at  timestamptz NOT NULL,
  rate       double precision, -- pass_rate, else passed over total; null: it was not graded after all
  PRIMARY KEY (org_id, grading_id)
);
CREATE INDEX gradings_by_session ON gradings (org_id, session_id);
CREATE INDEX gradings_by_age ON gradings USING brin (graded_at);

CREATE TABLE improvement_signals (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  signal_id   text NOT NULL,
  session_id  text NOT NULL,
  occurred_at timestamptz NOT NULL,
  query       text,
  signal_type text,
  skill_id    uuid,
  PRIMARY KEY (org_id, signal_id)
);
CREATE INDEX improvement_signals_by_session ON improvement_signals (org_id, session_id);
CREATE INDEX improvement_signals_by_age ON improvement_signals USING brin (occurred_at);

-- One row for each skill of each session that has arrived: the smallest unit of every rollup. It belongs to one day.
CREATE TABLE session_skills (
  org_id       uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  session_id   text NOT NULL,
  skill_id     uuid NOT NULL,
  day          date NOT NULL,
  seen         boolean NOT NULL, -- false: it was only graded
  first_at     timestamptz NOT NULL,
  last_at      timestamptz NOT NULL,
  triggers     bigint NOT NULL,
  scored       bigint NOT NULL, -- triggers with a confidence
  confidence   bigint NOT NULL, -- their sum, in billionths: integers add up the same in every order
  rate         double precision,
  graded_at    timestamptz,
  grading_id   text,
  version_hash text NOT NULL,
  platform     text NOT NULL,
  model        text NOT NULL,
  PRIMARY KEY (org_id, session_id, skill_id)
);
CREATE INDEX session_skills_graded ON session_skills (org_id, skill_id, graded_at DESC, grading_id DESC) WHERE rate IS NOT NULL;
CREATE INDEX session_skills_by_sight ON session_skills (org_id, skill_id, last_at DESC);

CREATE TABLE skill_days (
  org_id             uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  skill_id           uuid NOT NULL,
  day                date NOT NULL,
  sessions           bigint NOT NULL,
  triggered_sessions bigint NOT NULL,
  triggers           bigint NOT NULL,
  scored             bigint NOT NULL,
  confidence         bigint NOT NULL,
  graded             bigint NOT NULL,
  passed             bigint NOT NULL,
  rate               bigint NOT NULL,
  PRIMARY KEY (org_id, skill_id, day)
);

-- The same sums by version, platform and model, over all time.
CREATE TABLE skill_breakdowns (
  org_id             uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  skill_id           uuid NOT NULL,
  dimension          text NOT NULL CHECK (dimension IN ('VERSION', 'PLATFORM', 'MODEL')),
  value              text NOT NULL,
  sessions           bigint NOT NULL,
  triggered_sessions bigint NOT NULL,
  triggers           bigint NOT NULL,
  scored             bigint NOT NULL,
  confidence         bigint NOT NULL,
  graded             bigint NOT NULL,
  passed             bigint NOT NULL,
  rate               bigint NOT NULL,
  PRIMARY KEY (org_id, skill_id, dimension, value)
);

-- In how many sessions a skill was seen and did not fire, while another one did.
CREATE TABLE skill_confusions (
  org_id   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  skill_id uuid NOT NULL,
  other_id uuid NOT NULL,
  sessions bigint NOT NULL,
  PRIMARY KEY (org_id, skill_id, other_id)
);
