ALTER TABLE eval_suites
  DROP CONSTRAINT eval_suites_source_fkey,
  ADD CONSTRAINT eval_suites_source_fkey FOREIGN KEY (org_id, source_id) REFERENCES cloud_sources;
DROP TABLE validation_reports, snapshot_files, snapshots;
ALTER TABLE cloud_sources
  DROP CONSTRAINT cloud_sources_label_check,
  DROP CONSTRAINT cloud_sources_repo_check,
  DROP COLUMN skill_id, DROP COLUMN repo_installation_id, DROP COLUMN repo_full_name,
  DROP COLUMN default_branch, DROP COLUMN skill_path, DROP COLUMN created_by;
DROP TABLE repo_installations, repo_grants;
