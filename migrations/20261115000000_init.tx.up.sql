-- A migration may take longer than a request may.
SET LOCAL statement_timeout = 0;

-- Identity. These tables are small and shared; everything below them is keyed by (org_id, id), with composite
-- foreign keys, so that the database itself refuses a link across organizations and every tenant's rows can be
-- moved to a machine of their own by org_id.

CREATE TABLE organizations (
  id         uuid PRIMARY KEY,
  name       text NOT NULL CONSTRAINT organizations_name_key UNIQUE,
  plan       text NOT NULL CHECK (plan IN ('FREE', 'PRO', 'TEAM', 'ENTERPRISE')),
  created_at timestamptz NOT NULL
);

CREATE TABLE users (
  id         uuid PRIMARY KEY,
  email      text NOT NULL CONSTRAINT users_email_key UNIQUE CHECK (email = lower(email)),
  created_at timestamptz NOT NULL
);

-- A member who leaves keeps the row, so that what they made still names them.
CREATE TABLE members (
  org_id     uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id    uuid NOT NULL REFERENCES users,
  role       text NOT NULL CHECK (role IN ('VIEWER', 'MEMBER', 'ADMIN', 'OWNER')),
  joined_at  timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (org_id, user_id)
);

CREATE TABLE api_keys (
  org_id       uuid NOT NULL,
  id           uuid NOT NULL,
  user_id      uuid NOT NULL,
  name         text NOT NULL,
  prefix       text NOT NULL,
  hash         bytea NOT NULL CONSTRAINT api_keys_hash_key UNIQUE,
  permissions  text[],
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, user_id) REFERENCES members ON DELETE CASCADE
);

-- The audit trail, and what live updates are read from. seq is the order in which things were written.
CREATE TABLE events (
  org_id     uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id         uuid NOT NULL,
  seq        bigint GENERATED ALWAYS AS IDENTITY,
  kind       text NOT NULL,
  object_id  uuid NOT NULL,
  actor_id   uuid,
  data       json NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, actor_id) REFERENCES members
);
CREATE INDEX events_by_seq ON events (org_id, seq);
CREATE INDEX events_by_object ON events (org_id, object_id, seq);
CREATE INDEX events_by_kind ON events (org_id, kind, seq);
CREATE INDEX events_by_age ON events USING brin (created_at);

-- Hosted folders with skills. A suite may belong to one.
CREATE TABLE cloud_sources (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id          uuid NOT NULL,
  label       text NOT NULL,
  source_type text NOT NULL CHECK (source_type IN ('UPLOAD', 'REPOHOST')),
  created_at  timestamptz NOT NULL,
  PRIMARY KEY (org_id, id)
);
-- Another organization's source is answered differently from an unknown one.
CREATE INDEX cloud_sources_by_id ON cloud_sources (id);

CREATE TABLE eval_suites (
  org_id            uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                uuid NOT NULL,
  source_id         uuid,
  source_kind       text NOT NULL CHECK (source_kind IN ('MANUAL', 'IMPORTED', 'CONTRIBUTOR_AGGREGATE', 'ORG_EXEMPLARS')),
  name              text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
  verifier_kind     text NOT NULL CHECK (verifier_kind IN ('LLM_JUDGE', 'DETERMINISTIC', 'STRUCTURED_RUBRIC')),
  supports_no_skill boolean NOT NULL,
  resource_limits   json,
  case_count        integer NOT NULL CHECK (case_count BETWEEN 1 AND 500),
  suite_kind        text NOT NULL,
  revision          integer NOT NULL CHECK (revision > 0),
  created_by        uuid,
  created_at        timestamptz NOT NULL,
  updated_at        timestamptz NOT NULL,
  archived_at       timestamptz,
  PRIMARY KEY (org_id, id),
  CONSTRAINT eval_suites_source_fkey FOREIGN KEY (org_id, source_id) REFERENCES cloud_sources,
  FOREIGN KEY (org_id, created_by) REFERENCES members
);
CREATE INDEX eval_suites_by_source ON eval_suites (org_id, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX eval_suites_by_name ON eval_suites (org_id, name, id);
CREATE INDEX eval_suites_by_update ON eval_suites (org_id, updated_at, id);

-- Every state a suite has had. Rows are written once; the cases are only here.
CREATE TABLE suite_revisions (
  org_id            uuid NOT NULL,
  id                uuid NOT NULL,
  suite_id          uuid NOT NULL,
  number            integer NOT NULL CHECK (number > 0),
  name              text NOT NULL,
  verifier_kind     text NOT NULL,
  supports_no_skill boolean NOT NULL,
  resource_limits   json,
  case_count        integer NOT NULL,
  suite_kind        text NOT NULL,
  cases             json NOT NULL,
  changed           text[] NOT NULL,
  created_by        uuid,
  created_at        timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT suite_revisions_number_key UNIQUE (org_id, suite_id, number),
  FOREIGN KEY (org_id, suite_id) REFERENCES eval_suites ON DELETE CASCADE,
  FOREIGN KEY (org_id, created_by) REFERENCES members
);
