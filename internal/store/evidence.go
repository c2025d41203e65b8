package store

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Suggestions follow their evidence. Whoever changes telemetry notes the sessions; a job compares what their records say now with what they said
// before, and adds up the difference: it costs by what is new, not by what is stored.

// SuggestJob brings the suggestions of an organization up to date.
type SuggestJob struct {
	OrgID ids.ID `json:"org_id"`
}

// Kind names the job in the queue.
func (SuggestJob) Kind() string { return "suggest" }

// InsertOpts keeps one of them in the queue. What is noted while it runs, or after its server was killed, is found by the next sweep.
func (SuggestJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}}}
}

// noteSessions remembers sessions whose records have changed, where there is a source that they may matter to. One that is
// noted already is held until the change is there to be read: Suggest would else forget it after reading what was there before.
func (o Org) noteSessions(ctx context.Context, sessions []string) error {
	type row struct {
		New int `bun:"new"`
	}
	noted, err := query[row](ctx, o.pg, `WITH noted AS (
			INSERT INTO suggestion_queue (org_id, backlog, session_id) SELECT $1, false, s FROM unnest($2::text[]) AS s
			WHERE EXISTS (SELECT FROM cloud_sources c WHERE c.org_id = $1 AND c.skill_id IS NOT NULL) ORDER BY s
			ON CONFLICT (org_id, backlog, session_id) DO UPDATE SET backlog = excluded.backlog RETURNING xmax = 0 AS new
		) SELECT count(*) FILTER (WHERE new) AS new FROM noted`, o.id, sessions)
	if err != nil || noted[0].New == 0 {
		return err
	}
	return o.enqueue(ctx, SuggestJob{o.id})
}

// Unsuggested are the organizations in which there is something left to do.
func (s *Store) Unsuggested(ctx context.Context) ([]ids.ID, error) {
	type row struct {
		ID ids.ID `bun:"id"`
	}
	rows, err := query[row](ctx, s.pool, `SELECT t.id FROM organizations t WHERE EXISTS (SELECT FROM suggestion_queue q WHERE q.org_id = t.id)
		OR EXISTS (SELECT FROM cloud_sources c WHERE c.org_id = t.id AND c.skill_id IS DISTINCT FROM c.suggested_skill_id)`)
	return column(rows, func(r *row) ids.ID { return r.ID }), err
}

// suggestBatch is how many sessions one transaction takes.
const suggestBatch = 500

// Suggest brings the suggestions up to date with some of the sessions that were noted, and says how many; there are more when it is not 0.
func (o Org) Suggest(ctx context.Context) (int, error) {
	if err := o.tx(ctx, func(o Org) error { return o.noteLinks(ctx) }); err != nil {
		return 0, err
	}
	return inTx(ctx, o, func(o Org) (int, error) {
		if err := o.lockSuggestions(ctx); err != nil {
			return 0, err
		}
		type row struct {
			SessionID string `bun:"session_id"`
		}
		rows, err := query[row](ctx, o.pg, `DELETE FROM suggestion_queue t USING (
				SELECT backlog, session_id FROM suggestion_queue WHERE org_id = $1 ORDER BY backlog, session_id LIMIT $2 FOR UPDATE SKIP LOCKED
			) n WHERE t.org_id = $1 AND t.backlog = n.backlog AND t.session_id = n.session_id RETURNING t.session_id`, o.id, suggestBatch)
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		sessions := column(rows, func(r *row) string { return r.SessionID })
		now, err := o.observations(ctx, sessions)
		if err != nil {
			return 0, err
		}
		return len(sessions), o.replaceEvidence(ctx, sessions, now)
	})
}

// lockSuggestions makes writers of an organization's evidence wait for each other. Who also takes the lock of the telemetry takes that one first.
func (o Org) lockSuggestions(ctx context.Context) error {
	_, err := exec(ctx, o.pg, "SELECT pg_advisory_xact_lock(hashtextextended('suggestions ' || $1::uuid::text, 0))", o.id)
	return err
}

// noteLinks notes every session that matters to a source which was linked to another skill since: those of that skill, and those that it has evidence of.
func (o Org) noteLinks(ctx context.Context) error {
	type row struct {
		ID      ids.ID  `bun:"id"`
		SkillID *ids.ID `bun:"skill_id"`
	}
	rows, err := query[row](ctx, o.pg, `UPDATE cloud_sources t SET suggested_skill_id = t.skill_id
		WHERE t.org_id = $1 AND t.skill_id IS DISTINCT FROM t.suggested_skill_id RETURNING t.id, t.skill_id`, o.id)
	if err != nil || len(rows) == 0 {
		return err
	}
	if _, err := exec(ctx, o.pg, "SET LOCAL statement_timeout = '50s'"); err != nil { // once for a link, however many sessions there are
		return err
	}
	_, err = exec(ctx, o.pg, `INSERT INTO suggestion_queue (org_id, backlog, session_id) SELECT $1, true, s.session_id FROM (
			SELECT session_id FROM session_skills WHERE org_id = $1 AND skill_id = ANY($3)
			UNION SELECT session_id FROM improvement_signals WHERE org_id = $1 AND skill_id = ANY($3)
			UNION SELECT e.session_id FROM eval_suggestions t JOIN suggestion_evidence e ON e.org_id = t.org_id AND e.suggestion_id = t.id
				WHERE t.org_id = $1 AND t.source_id = ANY($2) AND e.session_id IS NOT NULL
			ORDER BY session_id
		) s ON CONFLICT (org_id, backlog, session_id) DO UPDATE SET backlog = excluded.backlog`, o.id, column(rows, func(r *row) ids.ID { return r.ID }), column(rows, func(r *row) *ids.ID { return r.SkillID }))
	return err
}

// observations reads what the records of sessions that have arrived say about the skills that sources are linked to. A prompt is one observation: missed,
// where the skill was seen and did not fire; failed, where it is the one that a failed session is about; else it went well. Where no text of
// prompts is kept there is nothing to observe.
func (o Org) observations(ctx context.Context, sessions []string) ([]*models.Observation, error) {
	if o.store.options.DropPromptText {
		return nil, nil
	}
	return query[models.Observation](ctx, o.pg, `
		WITH linked AS (SELECT c.id AS source_id, c.skill_id FROM cloud_sources c WHERE c.org_id = $1 AND c.skill_id IS NOT NULL),
		arrived AS (SELECT s.session_id FROM sessions s WHERE s.org_id = $1 AND s.session_id = ANY($2)),
		said AS (
			SELECT p.session_id, p.prompt_id, p.occurred_at, p.is_actionable FROM prompts p JOIN arrived USING (session_id)
			WHERE p.org_id = $1 AND p.prompt_text <> ''
		), matched AS (
			SELECT i.session_id, i.skill_id, i.matched_prompt_id AS prompt_id, bool_or(NOT i.triggered) AS missed, bool_or(i.triggered) AS fired,
				min(i.occurred_at) AS at, (array_agg(i.invocation_mode ORDER BY i.triggered, i.occurred_at, i.invocation_id))[1] AS mode
			FROM invocations i JOIN said p ON p.session_id = i.session_id AND p.prompt_id = i.matched_prompt_id
			WHERE i.org_id = $1 AND i.session_id = ANY($2) AND i.skill_id IN (SELECT skill_id FROM linked) GROUP BY 1, 2, 3
		), failed AS (
			SELECT g.session_id, g.skill_id, coalesce(
				(SELECT m.prompt_id FROM matched m WHERE m.session_id = g.session_id AND m.skill_id = g.skill_id ORDER BY m.fired DESC, m.at, m.prompt_id LIMIT 1),
				(SELECT p.prompt_id FROM said p WHERE p.session_id = g.session_id AND p.is_actionable ORDER BY p.occurred_at, p.prompt_id LIMIT 1)) AS prompt_id
			FROM session_skills g WHERE g.org_id = $1 AND g.session_id = ANY($2) AND g.skill_id IN (SELECT skill_id FROM linked) AND g.rate < 0.5
		)
		SELECT l.source_id, 'PROMPT' AS origin, p.prompt_id AS ref, p.session_id, p.prompt_text AS text, true AS should_trigger, p.occurred_at AS observed_at, n.invocation_type,
			CASE WHEN n.missed THEN 'MISSED_QUERY' WHEN n.failed THEN 'FAILED_EVALUATION' ELSE 'GOOD' END AS kind
		FROM (
			SELECT session_id, skill_id, prompt_id, m.mode AS invocation_type, coalesce(m.missed, false) AS missed, f.prompt_id IS NOT NULL AS failed
			FROM matched m FULL JOIN (SELECT * FROM failed WHERE prompt_id IS NOT NULL) f USING (session_id, skill_id, prompt_id)
		) n JOIN linked l USING (skill_id) JOIN prompts p ON p.org_id = $1 AND p.prompt_id = n.prompt_id
		WHERE char_length(p.prompt_text) <= $3
		UNION ALL
		SELECT l.source_id, 'SIGNAL', s.signal_id, s.session_id, s.query, true, s.occurred_at, NULL, 'MISSED_QUERY'
		FROM improvement_signals s JOIN arrived USING (session_id) JOIN linked l USING (skill_id)
		WHERE s.org_id = $1 AND char_length(s.query) <= $3`, o.id, sessions, models.MaxQuery)
}

// forgetSessions takes sessions that are gone out of the evidence, and out of the suggestions that nobody has reviewed.
func (o Org) forgetSessions(ctx context.Context, sessions []string) error {
	if err := o.lockSuggestions(ctx); err != nil {
		return err
	}
	if _, err := exec(ctx, o.pg, "DELETE FROM suggestion_queue WHERE org_id = $1 AND session_id = ANY($2)", o.id, sessions); err != nil {
		return err
	}
	return o.replaceEvidence(ctx, sessions, nil)
}

func (o Org) replaceEvidence(ctx context.Context, sessions []string, now []*models.Observation) error {
	// OFFSET 0 keeps the planner, who may remember the table as empty, from comparing every row with every session.
	before, err := query[models.SuggestionEvidence](ctx, o.pg, `SELECT e.* FROM unnest($2::text[]) AS k(id) CROSS JOIN LATERAL (
			SELECT `+columns[models.SuggestionEvidence]()+` FROM suggestion_evidence t WHERE t.org_id = $1 AND t.session_id = k.id OFFSET 0) e`, o.id, sessions)
	if err != nil {
		return err
	}
	return o.applyEvidence(ctx, models.CompareEvidence(before, now))
}

// applyEvidence writes a difference, and everything that follows from it.
func (o Org) applyEvidence(ctx context.Context, c *models.EvidenceChange) error {
	for _, step := range []func(context.Context, *models.EvidenceChange) error{o.addSuggestions, o.addSuggestionCounts, o.moveEvidence} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	counted := slices.Collect(maps.Keys(c.Counts))
	before, err := o.shown(ctx, counted)
	if err != nil {
		return err
	}
	if err := o.settleSuggestions(ctx, slices.Collect(maps.Keys(c.Touched))); err != nil {
		return err
	}
	now, err := o.shown(ctx, counted)
	if err != nil {
		return err
	}
	return o.tellSuggestions(ctx, before, now)
}

// shown are those of some suggestions that people see, with their sources.
func (o Org) shown(ctx context.Context, suggestions []ids.ID) (map[ids.ID]ids.ID, error) {
	found, err := o.SuggestionsByID(ctx, suggestions)
	out := make(map[ids.ID]ids.ID, len(found))
	for id, s := range found {
		out[id] = s.SourceID
	}
	return out, err
}

// tellSuggestions tells once for each source what became of its suggestions, however many there are.
func (o Org) tellSuggestions(ctx context.Context, before, now map[ids.ID]ids.ID) error {
	fresh, changed, sources := map[ids.ID]int{}, map[ids.ID]int{}, map[ids.ID]bool{}
	for _, source := range before {
		changed[source]++
		sources[source] = true
	}
	for id, source := range now {
		if _, known := before[id]; !known {
			fresh[source]++
			sources[source] = true
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(sources), func(a, b ids.ID) int { return slices.Compare(a[:], b[:]) }) {
		if err := o.event(ctx, "source.suggestions_changed", id, map[string]any{"new": fresh[id], "changed": changed[id]}); err != nil {
			return err
		}
	}
	return nil
}

// addSuggestions makes the suggestions that are not there yet.
func (o Org) addSuggestions(ctx context.Context, c *models.EvidenceChange) error {
	if len(c.Queries) == 0 {
		return nil
	}
	type row struct {
		ID ids.ID `bun:"id"`
	}
	there, err := query[row](ctx, o.pg, "SELECT t.id FROM eval_suggestions t WHERE t.org_id = $1 AND t.id = ANY($2)", o.id, slices.Collect(maps.Keys(c.Queries)))
	if err != nil {
		return err
	}
	for _, r := range there {
		delete(c.Queries, r.ID)
	}
	if len(c.Queries) == 0 {
		return nil
	}
	now, rows := o.now(), slices.Collect(maps.Values(c.Queries))
	_, err = o.pg.CopyFrom(ctx, pgx.Identifier{"eval_suggestions"}, []string{"org_id", "id", "source_id", "query", "should_trigger", "bands", "created_at"},
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			q := rows[i]
			return []any{o.id, q.SuggestionID, q.SourceID, "", q.ShouldTrigger, q.Bands(), now}, nil
		}))
	return fail(ctx, err)
}

func (o Org) addSuggestionCounts(ctx context.Context, c *models.EvidenceChange) error {
	if len(c.Counts) == 0 {
		return nil
	}
	var touched []ids.ID
	var missed, failed, failures, regressions, good []int
	for id, n := range c.Counts {
		touched, missed, failed = append(touched, id), append(missed, n.Missed), append(failed, n.Failed)
		failures, regressions, good = append(failures, n.RunFailures), append(regressions, n.RunRegressions), append(good, n.Good)
	}
	_, err := exec(ctx, o.pg, `UPDATE eval_suggestions t SET missed = t.missed + n.missed, failed = t.failed + n.failed, run_failures = t.run_failures + n.failures,
			run_regressions = t.run_regressions + n.regressions, good = t.good + n.good
		FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) AS n(id, missed, failed, failures, regressions, good)
		WHERE t.org_id = $1 AND t.id = n.id`, o.id, touched, missed, failed, failures, regressions, good)
	return err
}

func (o Org) moveEvidence(ctx context.Context, c *models.EvidenceChange) error {
	if len(c.Drop) > 0 {
		if _, err := exec(ctx, o.pg, "DELETE FROM suggestion_evidence WHERE org_id = $1 AND id = ANY($2)", o.id, c.Drop); err != nil {
			return err
		}
	}
	if len(c.Put) == 0 {
		return nil
	}
	_, err := o.pg.CopyFrom(ctx, pgx.Identifier{"suggestion_evidence"}, []string{
		"org_id", "id", "suggestion_id", "kind", "origin", "ref", "session_id", "run_id", "query", "invocation_type", "observed_at",
	}, pgx.CopyFromSlice(len(c.Put), func(i int) ([]any, error) {
		e := c.Put[i]
		var text *string
		if e.Origin == models.OriginResult {
			text = &e.Text
		}
		return []any{o.id, e.ID, e.SuggestionID, e.Kind, e.Origin, e.Ref, e.SessionID, e.RunID, text, e.InvocationType, e.ObservedAt}, nil
	}))
	return fail(ctx, err)
}

// settleSuggestions shows suggestions as their newest evidence has them. Where nothing is left, and nobody has reviewed them, they keep nothing of what was
// said, or are gone.
func (o Org) settleSuggestions(ctx context.Context, touched []ids.ID) error {
	if len(touched) == 0 {
		return nil
	}
	for _, sql := range []string{
		`UPDATE eval_suggestions t SET query = n.text, last_observed_at = n.observed_at, invocation_type = n.invocation_type
		FROM unnest($2::uuid[]) AS k(id) CROSS JOIN LATERAL (
			SELECT coalesce(e.query, p.prompt_text, s.query) AS text, e.observed_at, e.invocation_type FROM suggestion_evidence e
			LEFT JOIN prompts p ON e.origin = 'PROMPT' AND p.org_id = e.org_id AND p.prompt_id = e.ref
			LEFT JOIN improvement_signals s ON e.origin = 'SIGNAL' AND s.org_id = e.org_id AND s.signal_id = e.ref
			WHERE e.org_id = $1 AND e.suggestion_id = k.id AND e.kind <> 'GOOD' ORDER BY e.observed_at DESC, e.id DESC LIMIT 1
		) n WHERE t.org_id = $1 AND t.id = k.id AND n.text IS NOT NULL AND (t.query, t.last_observed_at, t.invocation_type) IS DISTINCT FROM (n.text, n.observed_at, n.invocation_type)`,
		`DELETE FROM eval_suggestions t WHERE t.org_id = $1 AND t.id = ANY($2) AND t.observed_count + t.good = 0` + notReviewed,
		`UPDATE eval_suggestions t SET query = '', last_observed_at = NULL, invocation_type = NULL
		WHERE t.org_id = $1 AND t.id = ANY($2) AND t.observed_count = 0 AND t.query <> ''` + notReviewed,
	} {
		if _, err := exec(ctx, o.pg, sql, o.id, touched); err != nil {
			return err
		}
	}
	return nil
}

const notReviewed = " AND NOT EXISTS (SELECT FROM suggestion_reviews r WHERE r.org_id = t.org_id AND r.source_id = t.source_id AND r.suggestion_id = t.id)"
