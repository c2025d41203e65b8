SET LOCAL statement_timeout = 0;

-- Contributions to the creator of a skill. A bundle belongs to the person it is addressed to, whichever organization it came
-- from, so the creator stands where other tables have the organization; who sent it is kept nowhere.
CREATE TABLE community_bundles (
  creator_id            uuid NOT NULL, -- perhaps nobody's yet
  id                    uuid NOT NULL,
  skill_name            text NOT NULL CHECK (char_length(skill_name) BETWEEN 1 AND 200),
  contributor_hash      text NOT NULL, -- keyed, of sender and creator
  digest                bytea NOT NULL, -- of the bundle in canonical form
  bundle                json NOT NULL, -- without its contributor_id
  schema_version        text NOT NULL,
  agent_type            text NOT NULL,
  tool_version          text,
  sanitization_level    text NOT NULL,
  positive_query_count  integer NOT NULL,
  eval_entry_count      integer NOT NULL,
  total_sessions        bigint NOT NULL,
  graded_sessions       bigint,
  average_pass_rate     double precision,
  deployed_proposals    bigint,
  rolled_back_proposals bigint,
  submitted_at          timestamptz NOT NULL,
  PRIMARY KEY (creator_id, id),
  CONSTRAINT community_bundles_once UNIQUE (creator_id, contributor_hash, digest)
);
CREATE INDEX community_bundles_by_skill ON community_bundles (creator_id, skill_name, id);

-- Contributor signals. The tables raw_signal* are written by the ingest and read by the view signal_figures alone, which shows a figure
-- only from 10 signals and 3 cohorts on; a test makes sure of it.
CREATE TABLE raw_signals (
  org_id       uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  source_key   text NOT NULL,
  skill_name   text, -- null: it is in no figure
  signal_type  text NOT NULL,
  cohort       bytea NOT NULL, -- keyed hash
  confidence   double precision,
  triggered    boolean,
  missed       boolean NOT NULL,
  query_bucket text,
  hour         timestamptz NOT NULL,
  received_on  date NOT NULL,
  PRIMARY KEY (org_id, source_key)
);
CREATE INDEX raw_signals_by_age ON raw_signals USING brin (received_on);

-- Sums of signals. A line is a type of signals about a skill, or '': all of its types together; its cells are the whole of it (ALL),
-- the signals with a confidence (SCORED), those of a week (WEEK, by its Monday) and those of a bucket (BUCKET; '': of none).
CREATE TABLE raw_signal_cells (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  dimension   text NOT NULL CHECK (dimension IN ('ALL', 'SCORED', 'WEEK', 'BUCKET')),
  skill_name  text NOT NULL,
  signal_type text NOT NULL,
  label       text NOT NULL,
  signals     bigint NOT NULL,
  cohorts     bigint NOT NULL, -- as many rows as there are below
  told        bigint NOT NULL, -- signals that tell whether the skill fired
  triggered   bigint NOT NULL,
  missed      bigint NOT NULL,
  confidence  bigint NOT NULL, -- sum, in billionths
  first_at    timestamptz NOT NULL,
  last_at     timestamptz NOT NULL,
  PRIMARY KEY (org_id, dimension, skill_name, signal_type, label)
);

CREATE TABLE raw_signal_cohorts (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  dimension   text NOT NULL,
  skill_name  text NOT NULL,
  signal_type text NOT NULL,
  label       text NOT NULL,
  cohort      bytea NOT NULL,
  PRIMARY KEY (org_id, dimension, skill_name, signal_type, label, cohort)
);

CREATE FUNCTION past_gate(signals bigint, cohorts bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS 'SELECT signals >= 10 AND cohorts >= 3';

-- The gate: every figure that anybody sees is in here, and is null unless it may be shown. docs/adr/0010 has the argument.
-- A row stands for a type (TYPE), a skill (SKILL), a week of it (WEEK) or a bucket of it (BUCKET; a hidden one has no row).
CREATE VIEW signal_figures AS
WITH lines AS NOT MATERIALIZED (
  SELECT c.*, past_gate(c.signals, c.cohorts) AS past,
    -- What a skill shows: its types that pass or, where none does, everything as one group. Both would tell the difference.
    past_gate(c.signals, c.cohorts)
      AND (c.signal_type <> '' OR NOT bool_or(c.signal_type <> '' AND past_gate(c.signals, c.cohorts)) OVER (PARTITION BY c.org_id, c.skill_name)) AS shown
  FROM raw_signal_cells c WHERE c.dimension = 'ALL'
), parts AS NOT MATERIALIZED (
  SELECT p.org_id, p.dimension, p.skill_name, p.label, p.signals, p.told, p.triggered, p.missed,
    -- What is hidden of a line is the line less what is shown, so together it must pass, too. Where that is not sure the smallest part that
    -- passes is hidden with it, and makes it sure.
    p.past AND (p.hidden IS NULL OR past_gate(p.hidden, p.hidden_cohorts) OR p.place > 1) AS shown
  FROM (
    SELECT q.*, sum(q.signals) FILTER (WHERE NOT q.past) OVER line::bigint AS hidden, max(q.cohorts) FILTER (WHERE NOT q.past) OVER line AS hidden_cohorts,
      row_number() OVER (PARTITION BY q.org_id, q.dimension, q.skill_name, q.signal_type, q.past ORDER BY q.signals, q.label) AS place
    FROM (
      SELECT c.*, c.label <> '' AND past_gate(c.signals, c.cohorts) AS past
      FROM raw_signal_cells c JOIN lines l ON l.org_id = c.org_id AND l.skill_name = c.skill_name AND l.signal_type = c.signal_type
      WHERE c.dimension IN ('WEEK', 'BUCKET') AND l.shown
    ) q WINDOW line AS (PARTITION BY q.org_id, q.dimension, q.skill_name, q.signal_type)
  ) p
)
SELECT l.org_id, 'TYPE' AS level, l.skill_name, l.signal_type AS label,
  CASE WHEN l.past THEN l.signals END AS total_signals, CASE WHEN l.past THEN l.cohorts END AS cohorts,
  CASE WHEN l.past THEN l.triggered END AS triggered_count, CASE WHEN l.past THEN l.missed END AS missed_count,
  CASE WHEN l.past AND l.told > 0 THEN l.triggered / l.signals::float8 END AS trigger_rate,
  CASE WHEN l.past THEN (
    SELECT s.confidence / (s.signals * 1e9::float8) FROM raw_signal_cells s WHERE s.org_id = l.org_id AND s.dimension = 'SCORED' AND s.skill_name = l.skill_name
      AND s.signal_type = l.signal_type AND s.label = '' AND past_gate(s.signals, s.cohorts)) END AS avg_confidence,
  CASE WHEN l.past THEN l.first_at END AS first_seen_at, CASE WHEN l.past THEN l.last_at END AS last_seen_at
FROM lines l WHERE l.signal_type <> ''
UNION ALL
SELECT l.org_id, 'SKILL', l.skill_name, '',
  (sum(l.signals) FILTER (WHERE l.shown))::bigint, max(l.cohorts) FILTER (WHERE l.shown),
  (sum(l.triggered) FILTER (WHERE l.shown))::bigint, (sum(l.missed) FILTER (WHERE l.shown))::bigint,
  CASE WHEN sum(l.told) FILTER (WHERE l.shown) > 0 THEN sum(l.triggered) FILTER (WHERE l.shown) / (sum(l.signals) FILTER (WHERE l.shown))::float8 END,
  NULL, min(l.first_at) FILTER (WHERE l.shown), max(l.last_at) FILTER (WHERE l.shown)
FROM lines l GROUP BY l.org_id, l.skill_name
UNION ALL
SELECT p.org_id, p.dimension, p.skill_name, p.label,
  (sum(p.signals) FILTER (WHERE p.shown))::bigint, NULL,
  (sum(p.triggered) FILTER (WHERE p.shown))::bigint, (sum(p.missed) FILTER (WHERE p.shown))::bigint,
  CASE WHEN sum(p.told) FILTER (WHERE p.shown) > 0 THEN sum(p.triggered) FILTER (WHERE p.shown) / (sum(p.signals) FILTER (WHERE p.shown))::float8 END,
  NULL, NULL, NULL
FROM parts p GROUP BY p.org_id, p.dimension, p.skill_name, p.label HAVING p.dimension = 'WEEK' OR bool_or(p.shown);

-- What signals speak for. Rows are made and brought up to date by a job, from the view.
CREATE TABLE proposals (
  org_id        uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id            uuid NOT NULL,
  skill_name    text NOT NULL,
  proposal_type text NOT NULL CHECK (proposal_type IN ('WORDING_CHANGE', 'INVESTIGATE_REGRESSION')),
  status        text NOT NULL CHECK (status IN ('PENDING', 'APPROVED', 'REJECTED', 'APPLIED')),
  confidence    double precision NOT NULL,
  reason        text NOT NULL,
  evidence      json NOT NULL,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  decided_by    uuid,
  decided_at    timestamptz,
  applied_by    uuid,
  applied_at    timestamptz,
  version_id    uuid, -- of the registry
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, decided_by) REFERENCES members,
  FOREIGN KEY (org_id, applied_by) REFERENCES members,
  CHECK ((status = 'APPLIED') = (version_id IS NOT NULL)),
  CHECK ((status = 'APPLIED') = (applied_at IS NOT NULL)),
  CHECK ((status = 'PENDING') = (decided_at IS NULL))
);
CREATE INDEX proposals_by_age ON proposals (org_id, created_at, id);
CREATE INDEX proposals_by_skill ON proposals (org_id, skill_name);

-- Organizations whose signals have changed since the job last looked. Who makes the row enqueues the job.
CREATE TABLE proposals_due (
  org_id uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE
);

-- How often an organization has called what is limited, in the present hour.
CREATE TABLE call_counts (
  org_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name   text NOT NULL,
  hour   timestamptz NOT NULL,
  calls  integer NOT NULL,
  PRIMARY KEY (org_id, name)
);
