DROP VIEW signal_figures;
DROP FUNCTION past_gate;
DROP TABLE call_counts, proposals_due, proposals, raw_signal_cohorts, raw_signal_cells, raw_signals, community_bundles;
