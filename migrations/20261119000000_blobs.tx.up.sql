SET LOCAL statement_timeout = 0;

-- Bytes that are kept outside the database. Whoever refers to one has a foreign key to its row, so that no row goes while it is
-- needed. A row is here before its bytes are written.
CREATE TABLE blobs (
  hash       text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),
  size       bigint NOT NULL CHECK (size >= 0),
  touched_at timestamptz NOT NULL
);

-- Bytes that nobody can refer to any more, and that are still to be removed.
CREATE TABLE dead_blobs (
  hash text PRIMARY KEY
);
