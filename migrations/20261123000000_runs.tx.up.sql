SET LOCAL statement_timeout = 0;

-- Which skill a source is about; suggested_skill_id is the one that its suggestions are made from, so that a new link is noticed.
ALTER TABLE cloud_sources ADD COLUMN IF NOT EXISTS skill_id uuid;
ALTER TABLE cloud_sources ADD COLUMN suggested_skill_id uuid;
CREATE INDEX IF NOT EXISTS cloud_sources_by_skill ON cloud_sources (org_id, skill_id);
CREATE INDEX cloud_sources_relinked ON cloud_sources (org_id) WHERE skill_id IS DISTINCT FROM suggested_skill_id;
CREATE INDEX improvement_signals_by_skill ON improvement_signals (org_id, skill_id) WHERE skill_id IS NOT NULL;

-- What a runner said about the cases of one revision of a suite.
CREATE TABLE eval_runs (
  org_id         uuid NOT NULL,
  id             uuid NOT NULL,
  seq            bigint GENERATED ALWAYS AS IDENTITY, -- the order in which runs were recorded
  suite_id       uuid NOT NULL,
  revision       integer NOT NULL,
  version_id     uuid, -- of the registry
  snapshot_id    uuid, -- of a source
  variant        text NOT NULL CHECK (variant IN ('SKILL', 'NO_SKILL')),
  run_key        text NOT NULL,
  body_hash      bytea NOT NULL, -- of what the runner sent: the same key with another body is a mistake
  status         text NOT NULL CHECK (status IN ('PASSED', 'FAILED', 'INVALID')),
  invalid_reason text,
  case_count     integer NOT NULL,
  passed         integer NOT NULL,
  failed         integer NOT NULL,
  errored        integer NOT NULL,
  skipped        integer NOT NULL,
  started_at     timestamptz,
  finished_at    timestamptz,
  created_by     uuid,
  created_at     timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT eval_runs_key UNIQUE (org_id, run_key),
  CONSTRAINT eval_runs_revision_fkey FOREIGN KEY (org_id, suite_id, revision) REFERENCES suite_revisions (org_id, suite_id, number) ON DELETE CASCADE,
  FOREIGN KEY (org_id, created_by) REFERENCES members,
  CHECK (version_id IS NULL OR snapshot_id IS NULL)
);
CREATE INDEX eval_runs_by_suite ON eval_runs (org_id, suite_id, id);
CREATE INDEX eval_runs_by_snapshot ON eval_runs (org_id, snapshot_id, id) WHERE snapshot_id IS NOT NULL;
CREATE INDEX eval_runs_by_seq ON eval_runs (org_id, suite_id, variant, seq) WHERE status <> 'INVALID';

CREATE TABLE eval_results (
  org_id         uuid NOT NULL,
  id             uuid NOT NULL,
  run_id         uuid NOT NULL,
  case_id        text NOT NULL,
  position       integer NOT NULL, -- of the case in its suite
  outcome        text NOT NULL CHECK (outcome IN ('PASSED', 'FAILED', 'ERROR', 'SKIPPED')),
  reported       text NOT NULL CHECK (reported IN ('PASSED', 'FAILED', 'ERROR', 'SKIPPED')),
  judged_by      text NOT NULL CHECK (judged_by IN ('RUNNER', 'SERVER')),
  judgement      text, -- why the server decided so, or why it could not
  score          double precision CHECK (score BETWEEN 0 AND 1),
  output         text, -- its beginning
  output_bytes   integer,
  error          text,
  duration_ms    bigint,
  PRIMARY KEY (org_id, id),
  CONSTRAINT eval_results_case_key UNIQUE (org_id, run_id, case_id),
  FOREIGN KEY (org_id, run_id) REFERENCES eval_runs ON DELETE CASCADE
);
CREATE INDEX eval_results_by_run ON eval_results (org_id, run_id, position, id);

-- Sessions whose records have changed since suggestions were last made from them. Those of a new link wait behind the others.
CREATE TABLE suggestion_queue (
  org_id     uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  backlog    boolean NOT NULL,
  session_id text NOT NULL,
  PRIMARY KEY (org_id, backlog, session_id)
);

-- A query that a source's skill was seen with; it is a suggestion while something speaks for it. The counts are those of its
-- evidence. Its id derives from source, folded query and should_trigger.
CREATE TABLE eval_suggestions (
  org_id           uuid NOT NULL,
  id               uuid NOT NULL,
  source_id        uuid NOT NULL,
  query            text NOT NULL, -- as it was last asked; empty while it is no suggestion, and nobody has reviewed it
  should_trigger   boolean NOT NULL,
  missed           bigint NOT NULL DEFAULT 0 CHECK (missed >= 0),
  failed           bigint NOT NULL DEFAULT 0 CHECK (failed >= 0),
  run_failures     bigint NOT NULL DEFAULT 0 CHECK (run_failures >= 0),
  run_regressions  bigint NOT NULL DEFAULT 0 CHECK (run_regressions >= 0),
  good             bigint NOT NULL DEFAULT 0 CHECK (good >= 0), -- how often it went well
  observed_count   bigint NOT NULL GENERATED ALWAYS AS (missed + failed + run_failures + run_regressions) STORED,
  -- The lower end of the Wilson interval at 95% of the share that went wrong: with x of n, z = 1.96,
  -- (x + z²/2 - z sqrt(x (n-x) / n + z²/4)) / (n + z²).
  confidence       double precision NOT NULL GENERATED ALWAYS AS (greatest(0,
    (missed + failed + run_failures + run_regressions + 1.9207294103470546::float8 - 1.959963984540054::float8 * sqrt(
      coalesce((missed + failed + run_failures + run_regressions)::float8 * good / nullif(missed + failed + run_failures + run_regressions + good, 0), 0) + 0.9603647051735273::float8))
    / (missed + failed + run_failures + run_regressions + good + 3.8414588206941093::float8))) STORED,
  provenance       text NOT NULL GENERATED ALWAYS AS (CASE
    WHEN run_regressions > 0 AND run_regressions >= greatest(run_failures, failed, missed) THEN 'RUN_REGRESSION'
    WHEN run_failures > 0 AND run_failures >= greatest(failed, missed) THEN 'RUN_FAILURE'
    WHEN failed > 0 AND failed >= missed THEN 'FAILED_EVALUATION'
    ELSE 'MISSED_QUERY' END) STORED,
  last_observed_at timestamptz, -- when something last spoke for it
  invocation_type  text,
  bands            integer[] NOT NULL, -- what similar queries have in common with it
  created_at       timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, source_id) REFERENCES cloud_sources ON DELETE CASCADE
);
CREATE INDEX eval_suggestions_by_source ON eval_suggestions (org_id, source_id);
CREATE INDEX eval_suggestions_by_count ON eval_suggestions (org_id, source_id, observed_count, last_observed_at, id) WHERE query <> '';
CREATE INDEX eval_suggestions_by_time ON eval_suggestions (org_id, source_id, last_observed_at, id) WHERE query <> '';
CREATE INDEX eval_suggestions_by_confidence ON eval_suggestions (org_id, source_id, confidence, id) WHERE query <> '';
CREATE INDEX eval_suggestions_similar ON eval_suggestions USING gin (bands) WITH (fastupdate = off) WHERE observed_count > 0; -- who reads waits for nobody who tidies up

-- One time that a query went well or wrong. Its text stays where it is: with the prompt, the signal, or the case.
CREATE TABLE suggestion_evidence (
  org_id          uuid NOT NULL,
  id              uuid NOT NULL, -- derives from source, origin and ref
  suggestion_id   uuid NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('GOOD', 'MISSED_QUERY', 'FAILED_EVALUATION', 'RUN_FAILURE', 'RUN_REGRESSION')),
  origin          text NOT NULL CHECK (origin IN ('PROMPT', 'SIGNAL', 'RESULT')),
  ref             text NOT NULL, -- the prompt's, signal's or result's id
  session_id      text,
  run_id          uuid,
  query           text, -- of a case
  invocation_type text,
  observed_at     timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, suggestion_id) REFERENCES eval_suggestions ON DELETE CASCADE
);
CREATE INDEX suggestion_evidence_of ON suggestion_evidence (org_id, suggestion_id);
CREATE INDEX suggestion_evidence_newest ON suggestion_evidence (org_id, suggestion_id, observed_at, id) WHERE kind <> 'GOOD';
CREATE INDEX suggestion_evidence_by_session ON suggestion_evidence (org_id, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX suggestion_evidence_by_run ON suggestion_evidence (org_id, run_id) WHERE run_id IS NOT NULL;

-- What somebody decided about a suggestion, ours or a client's own: it says everything itself.
CREATE TABLE suggestion_reviews (
  org_id              uuid NOT NULL,
  id                  uuid NOT NULL,
  source_id           uuid NOT NULL,
  suggestion_id       uuid NOT NULL,
  review_status       text NOT NULL CHECK (review_status IN ('ACCEPTED', 'REJECTED')),
  accept_target       text CHECK (accept_target IN ('DRAFT', 'SAVED_SUITE')),
  applied_suite_id    uuid,
  applied_to_suite_at timestamptz,
  query               text NOT NULL,
  should_trigger      boolean NOT NULL,
  source              text NOT NULL CHECK (source IN ('LINKED_TELEMETRY', 'HOSTED_RUN')),
  provenance          text NOT NULL CHECK (provenance IN ('FAILED_EVALUATION', 'MISSED_QUERY', 'RUN_REGRESSION', 'RUN_FAILURE')),
  rationale           text,
  observed_count      double precision,
  confidence          double precision,
  last_observed_at    timestamptz,
  invocation_type     text,
  reviewed_by         uuid,
  reviewed_at         timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT suggestion_reviews_key UNIQUE (org_id, source_id, suggestion_id),
  FOREIGN KEY (org_id, source_id) REFERENCES cloud_sources ON DELETE CASCADE,
  FOREIGN KEY (org_id, applied_suite_id) REFERENCES eval_suites ON DELETE SET NULL (applied_suite_id),
  FOREIGN KEY (org_id, reviewed_by) REFERENCES members,
  CHECK ((review_status = 'ACCEPTED') = (accept_target IS NOT NULL))
);
CREATE INDEX suggestion_reviews_by_source ON suggestion_reviews (org_id, source_id, id);
CREATE INDEX suggestion_reviews_by_suggestion ON suggestion_reviews (org_id, suggestion_id);
CREATE INDEX suggestion_reviews_by_suite ON suggestion_reviews (org_id, applied_suite_id) WHERE applied_suite_id IS NOT NULL;
