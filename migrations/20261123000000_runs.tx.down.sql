-- skill_id stays: the step before may have made it.
DROP TABLE suggestion_reviews, suggestion_evidence, eval_suggestions, suggestion_queue, eval_results, eval_runs;
DROP INDEX improvement_signals_by_skill;
ALTER TABLE cloud_sources DROP COLUMN suggested_skill_id;
