SET LOCAL statement_timeout = 0;

DROP TABLE repo_queues, repo_deliveries, publish_attempts, repo_links;
ALTER TABLE organizations DROP COLUMN write_back_mode;
