SET LOCAL statement_timeout = 0;

ALTER TABLE registry_entries DROP CONSTRAINT registry_entries_current_fkey;
DROP TABLE registry_installations, registry_releases, registry_versions, registry_entries;
ALTER TABLE skills DROP COLUMN baseline;
