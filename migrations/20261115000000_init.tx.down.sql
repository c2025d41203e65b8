DROP TABLE suite_revisions, eval_suites, cloud_sources, events, api_keys, members, users, organizations;
