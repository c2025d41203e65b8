SET LOCAL statement_timeout = 0;

-- Accounts of the code host. Whoever has an installation has it alone.
CREATE TABLE repo_installations (
  org_id          uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id              uuid NOT NULL,
  installation_id bigint NOT NULL CONSTRAINT repo_installations_number_key UNIQUE CHECK (installation_id > 0),
  account_login   text NOT NULL CHECK (char_length(account_login) BETWEEN 1 AND 100),
  account_type    text NOT NULL CHECK (account_type IN ('USER', 'ORGANIZATION')),
  suspended       boolean NOT NULL,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  PRIMARY KEY (org_id, id)
);

-- Accounts that an organization may bind, besides the one of its own name.
CREATE TABLE repo_grants (
  org_id        uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  account_login text NOT NULL CHECK (char_length(account_login) BETWEEN 1 AND 100),
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (org_id, account_login)
);

ALTER TABLE cloud_sources
  ADD COLUMN skill_id             uuid,
  ADD COLUMN repo_installation_id uuid,
  ADD COLUMN repo_full_name       text NOT NULL DEFAULT '',
  ADD COLUMN default_branch       text NOT NULL DEFAULT '',
  ADD COLUMN skill_path           text NOT NULL DEFAULT '',
  ADD COLUMN created_by           uuid,
  ADD CONSTRAINT cloud_sources_label_check CHECK (char_length(label) BETWEEN 1 AND 200),
  ADD CONSTRAINT cloud_sources_repo_check CHECK (source_type = 'UPLOAD' OR
    repo_installation_id IS NOT NULL AND repo_full_name <> '' AND default_branch <> '' AND skill_path <> ''),
  ADD CONSTRAINT cloud_sources_skill_fkey FOREIGN KEY (org_id, skill_id) REFERENCES skills,
  ADD CONSTRAINT cloud_sources_installation_fkey FOREIGN KEY (org_id, repo_installation_id) REFERENCES repo_installations,
  ADD CONSTRAINT cloud_sources_author_fkey FOREIGN KEY (org_id, created_by) REFERENCES members;
CREATE INDEX cloud_sources_by_skill ON cloud_sources (org_id, skill_id, id) WHERE skill_id IS NOT NULL;
CREATE INDEX cloud_sources_by_installation ON cloud_sources (org_id, repo_installation_id) WHERE repo_installation_id IS NOT NULL;

-- A suite outlives the source it belonged to.
ALTER TABLE eval_suites
  DROP CONSTRAINT eval_suites_source_fkey,
  ADD CONSTRAINT eval_suites_source_fkey FOREIGN KEY (org_id, source_id) REFERENCES cloud_sources ON DELETE SET NULL (source_id);

-- What a source held from one change to the next. The newest is the present one; none is like the one before it.
CREATE TABLE snapshots (
  org_id        uuid NOT NULL,
  id            uuid NOT NULL,
  source_id     uuid NOT NULL,
  number        integer NOT NULL CHECK (number > 0),
  content_hash  text NOT NULL,
  file_count    integer NOT NULL,
  total_bytes   bigint NOT NULL,
  source_ref    text, -- the commit it was read from
  blob_hash     text NOT NULL REFERENCES blobs (hash),
  skipped       json NOT NULL, -- what was there and is no file
  rules_version integer NOT NULL, -- of its newest report
  created_by    uuid,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT snapshots_number_key UNIQUE (org_id, source_id, number),
  FOREIGN KEY (org_id, source_id) REFERENCES cloud_sources ON DELETE CASCADE,
  FOREIGN KEY (org_id, created_by) REFERENCES members
);
CREATE INDEX snapshots_by_blob ON snapshots (blob_hash);
CREATE INDEX snapshots_by_rules ON snapshots (rules_version, id);

CREATE TABLE snapshot_files (
  org_id      uuid NOT NULL,
  snapshot_id uuid NOT NULL,
  path        text COLLATE "C" NOT NULL,
  size        bigint NOT NULL,
  sha256      text NOT NULL,
  PRIMARY KEY (org_id, snapshot_id, path),
  FOREIGN KEY (org_id, snapshot_id) REFERENCES snapshots ON DELETE CASCADE
);

CREATE TABLE validation_reports (
  org_id        uuid NOT NULL,
  id            uuid NOT NULL,
  source_id     uuid NOT NULL,
  snapshot_id   uuid NOT NULL,
  status        text NOT NULL CHECK (status IN ('PASSED', 'WARNING', 'FAILED')),
  issues        json NOT NULL,
  rules_version integer NOT NULL,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT validation_reports_rules_key UNIQUE (org_id, snapshot_id, rules_version),
  FOREIGN KEY (org_id, source_id) REFERENCES cloud_sources ON DELETE CASCADE,
  FOREIGN KEY (org_id, snapshot_id) REFERENCES snapshots ON DELETE CASCADE
);
CREATE INDEX validation_reports_by_source ON validation_reports (org_id, source_id, id);
