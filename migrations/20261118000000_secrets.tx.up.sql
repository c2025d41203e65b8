SET LOCAL statement_timeout = 0;

-- What the server signs and hashes with: made when it is first needed, the same for every replica.
CREATE TABLE server_secrets (
  name       text PRIMARY KEY,
  secret     bytea NOT NULL CHECK (length(secret) = 32),
  created_at timestamptz NOT NULL
);
