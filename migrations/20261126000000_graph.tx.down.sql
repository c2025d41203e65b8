SET LOCAL statement_timeout = 0;

DROP FUNCTION search_follow() CASCADE;
DROP FUNCTION search_refresh(uuid, uuid);
DROP TABLE search_texts;
DROP VIEW search_objects;
DROP FUNCTION search_nearly(text[]);
DROP FUNCTION search_beginnings(text[]);
DROP FUNCTION search_keys(text[], integer);
DROP FUNCTION search_slips(text, integer);
DROP FUNCTION search_words(text);
DROP INDEX alerts_by_author, api_keys_by_user, cloud_sources_by_author, eval_runs_by_author, eval_suites_by_author, events_by_actor, proposals_by_decider,
  registry_entries_by_author, registry_versions_by_author, repo_links_by_author, suggestion_reviews_by_author,
  eval_runs_by_revision, eval_runs_by_version, proposals_by_version, publish_attempts_by_version;
