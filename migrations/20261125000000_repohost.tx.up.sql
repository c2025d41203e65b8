SET LOCAL statement_timeout = 0;

ALTER TABLE organizations ADD COLUMN write_back_mode text NOT NULL DEFAULT 'OFF' CHECK (write_back_mode IN ('OFF', 'CHECKS', 'CHECKS_AND_PRS'));

-- A repository that publishes to an entry.
CREATE TABLE repo_links (
  org_id               uuid NOT NULL,
  id                   uuid NOT NULL,
  entry_id             uuid NOT NULL,
  repo_installation_id uuid NOT NULL,
  repo_id              bigint NOT NULL, -- the code host's: it stays when the repository is renamed
  repo_full_name       text NOT NULL,
  default_branch       text NOT NULL,
  skill_path           text NOT NULL,
  auto_publish         boolean NOT NULL,
  write_back_enabled   boolean NOT NULL,
  tag_pattern          text NOT NULL,
  created_by           uuid,
  created_at           timestamptz NOT NULL,
  updated_at           timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  CONSTRAINT repo_links_entry_key UNIQUE (org_id, entry_id),
  FOREIGN KEY (org_id, entry_id) REFERENCES registry_entries ON DELETE CASCADE,
  CONSTRAINT repo_links_installation_fkey FOREIGN KEY (org_id, repo_installation_id) REFERENCES repo_installations,
  FOREIGN KEY (org_id, created_by) REFERENCES members
);
CREATE INDEX repo_links_by_repository ON repo_links (lower(repo_full_name));
CREATE INDEX repo_links_by_installation ON repo_links (org_id, repo_installation_id);

CREATE TABLE publish_attempts (
  org_id             uuid NOT NULL,
  id                 uuid NOT NULL,
  number             bigint GENERATED ALWAYS AS IDENTITY,
  link_id            uuid NOT NULL,
  trigger            text NOT NULL CHECK (trigger IN ('BRANCH', 'TAG', 'SYNC')),
  status             text NOT NULL CHECK (status IN ('PUBLISHED', 'UNCHANGED', 'FAILED')),
  version_name       text,
  version_id         uuid,
  source_ref         text NOT NULL,
  commit             text,
  message            text NOT NULL,
  write_back_status  text NOT NULL CHECK (write_back_status IN ('DISABLED', 'PENDING', 'SUCCESS', 'FAILED', 'UNSUPPORTED')),
  write_back_message text,
  check_run_id       text,
  created_at         timestamptz NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, link_id) REFERENCES repo_links ON DELETE CASCADE
);
CREATE INDEX publish_attempts_by_link ON publish_attempts (org_id, link_id, number);

-- What the code host tells. The deliveries of a repository are worked on one after the other, as they came.
CREATE TABLE repo_deliveries (
  org_id          uuid REFERENCES organizations ON DELETE CASCADE, -- null: of an installation that nobody has
  id              uuid NOT NULL PRIMARY KEY,
  number          bigint GENERATED ALWAYS AS IDENTITY,
  delivery_key    text NOT NULL CONSTRAINT repo_deliveries_key UNIQUE,
  queue           text NOT NULL, -- the repository, or the installation
  event           text NOT NULL,
  action          text,
  repo_full_name  text,
  ref             text,
  payload         json NOT NULL, -- what we have read of it
  state           text NOT NULL CHECK (state IN ('PENDING', 'DONE', 'IGNORED')),
  outcome         text,
  tries           integer NOT NULL DEFAULT 0,
  received_at     timestamptz NOT NULL
);
CREATE INDEX repo_deliveries_pending ON repo_deliveries (queue, number) WHERE state = 'PENDING';
CREATE INDEX repo_deliveries_by_org ON repo_deliveries (org_id, number);
CREATE INDEX repo_deliveries_by_age ON repo_deliveries (received_at);

-- Whoever adds to a queue, or leaves it because it is empty, holds its row.
CREATE TABLE repo_queues (
  name text PRIMARY KEY
);
