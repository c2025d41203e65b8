SET LOCAL statement_timeout = 0;

-- Bytes that are kept outside the database. A row is here before its bytes are written, and stays while anything refers to it:
-- whatever does has a foreign key to hash, and an index on its own column.
CREATE TABLE blobs (
  hash       text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),
  size       bigint NOT NULL CHECK (size >= 0),
  touched_at timestamptz NOT NULL
);
