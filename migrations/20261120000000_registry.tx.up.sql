SET LOCAL statement_timeout = 0;

CREATE EXTENSION IF NOT EXISTS pg_trgm; -- search forgives small mistakes

-- What the pass rate was when the current version was published; null without one.
ALTER TABLE skills ADD COLUMN baseline double precision;

CREATE TABLE registry_entries (
  org_id             uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                 uuid NOT NULL,
  skill_id           uuid NOT NULL, -- the skill of the same name
  name               text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
  entry_type         text NOT NULL CHECK (entry_type IN ('SKILL', 'SKILL_SET', 'AGENT', 'COMMAND')),
  description        text NOT NULL,
  visibility         text NOT NULL CHECK (visibility IN ('PUBLIC', 'ORG', 'UNLISTED')),
  source_repo        text,
  current_version_id uuid,
  current_live       boolean NOT NULL DEFAULT true CHECK (current_live), -- for the foreign key: what is current is not revoked
  pushes             integer NOT NULL DEFAULT 0, -- numbers the versions
  created_by         uuid,
  created_at         timestamptz NOT NULL,
  updated_at         timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT registry_entries_id_key UNIQUE (id), -- others may see it by its id
  CONSTRAINT registry_entries_name_key UNIQUE (org_id, name),
  FOREIGN KEY (org_id, skill_id) REFERENCES skills,
  FOREIGN KEY (org_id, created_by) REFERENCES members
);
CREATE INDEX registry_entries_by_skill ON registry_entries (org_id, skill_id);
CREATE INDEX registry_entries_public ON registry_entries (updated_at, id) WHERE visibility = 'PUBLIC';
-- A list of what is still to be entered makes an index look dear, and the planner reads every entry in its place: seconds, not milliseconds.
CREATE INDEX registry_entries_words ON registry_entries USING gin ((name || ' ' || description) gin_trgm_ops) WITH (fastupdate = off) WHERE visibility = 'PUBLIC';
CREATE INDEX registry_entries_names ON registry_entries USING gin (name gin_trgm_ops) WITH (fastupdate = off) WHERE visibility = 'PUBLIC';

CREATE TABLE registry_versions (
  org_id         uuid NOT NULL,
  id             uuid NOT NULL,
  entry_id       uuid NOT NULL,
  number         integer NOT NULL, -- the order of pushes
  version        text NOT NULL CHECK (version ~ '^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}$'),
  precedence     text COLLATE "C" NOT NULL, -- sorts as semantic versions do; empty for what is none
  prerelease     boolean NOT NULL,
  content_hash   text NOT NULL REFERENCES blobs (hash),
  client_tag     text,
  skill_hash     text, -- of SKILL.md
  hashes         text[] NOT NULL, -- what telemetry may call it
  size           bigint NOT NULL,
  file_count     integer NOT NULL,
  files          json NOT NULL, -- [{path, hash, size}]
  files_size     integer NOT NULL GENERATED ALWAYS AS (octet_length(files::text)) STORED,
  change_summary text,
  source         text NOT NULL CHECK (source IN ('CLI', 'REPOHOST', 'REPOHOST_DIRECT')),
  source_ref     text,
  source_repo    text,
  source_commit  text,
  baseline       double precision,
  rolled_back    boolean NOT NULL DEFAULT false,
  revoked_at     timestamptz,
  revoke_reason  text,
  live           boolean NOT NULL GENERATED ALWAYS AS (revoked_at IS NULL) STORED,
  pushed_by      uuid,
  pushed_at      timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT registry_versions_id_key UNIQUE (id),
  CONSTRAINT registry_versions_version_key UNIQUE (org_id, entry_id, version),
  UNIQUE (org_id, entry_id, number),
  UNIQUE (org_id, entry_id, id, live),
  FOREIGN KEY (org_id, entry_id) REFERENCES registry_entries ON DELETE CASCADE,
  FOREIGN KEY (org_id, pushed_by) REFERENCES members
);
CREATE INDEX registry_versions_by_push ON registry_versions (entry_id, number);
CREATE INDEX registry_versions_by_precedence ON registry_versions (entry_id, precedence, number);
CREATE INDEX registry_versions_by_content ON registry_versions (content_hash, entry_id, number);
CREATE INDEX registry_versions_by_tag ON registry_versions (client_tag, entry_id, number) WHERE client_tag IS NOT NULL;

-- The current version is always one of the entry, and was not revoked.
ALTER TABLE registry_entries ADD CONSTRAINT registry_entries_current_fkey
  FOREIGN KEY (org_id, id, current_version_id, current_live) REFERENCES registry_versions (org_id, entry_id, id, live);

-- Every change of what is current: the way back.
CREATE TABLE registry_releases (
  org_id     uuid NOT NULL,
  id         uuid NOT NULL,
  entry_id   uuid NOT NULL,
  number     bigint GENERATED ALWAYS AS IDENTITY,
  kind       text NOT NULL CHECK (kind IN ('PUSH', 'ROLLBACK', 'REVOCATION')),
  from_id    uuid,
  to_id      uuid,
  reason     text,
  created_by uuid,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, entry_id) REFERENCES registry_entries ON DELETE CASCADE,
  FOREIGN KEY (org_id, created_by) REFERENCES members
);
CREATE INDEX registry_releases_by_entry ON registry_releases (org_id, entry_id, number);

-- What devices have. The device is of one organization, the entry may be of another.
CREATE TABLE registry_installations (
  org_id         uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id             uuid NOT NULL,
  entry_id       uuid NOT NULL REFERENCES registry_entries (id) ON DELETE CASCADE,
  user_id        uuid NOT NULL,
  device_id      text NOT NULL,
  install_path   text,
  version_id     uuid REFERENCES registry_versions (id), -- null: what it has is no version of ours
  content_hash   text,
  installed_at   timestamptz NOT NULL,
  last_synced_at timestamptz,
  PRIMARY KEY (org_id, id),
  CONSTRAINT registry_installations_device_key UNIQUE (org_id, user_id, entry_id, device_id),
  FOREIGN KEY (org_id, user_id) REFERENCES members
);
CREATE INDEX registry_installations_by_entry ON registry_installations (entry_id, org_id);
CREATE INDEX registry_installations_by_version ON registry_installations (version_id);
