package store

import (
	"context"
	"strconv"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// SuggestionsByID is the batch for every edge to a suggestion.
func (o Org) SuggestionsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.EvalSuggestion, error) {
	return batch(ctx, o, evalSuggestionID, "eval_suggestions t WHERE t.org_id = $1 AND t.id = ANY($2) AND t.query <> ''", keys)
}

func evalSuggestionID(s *models.EvalSuggestion) ids.ID { return s.ID }

var suggestionOrders = map[models.SuggestionOrder]order[models.EvalSuggestion]{
	models.SuggestionOrderObservedCount: {
		name: "observed", columns: []string{"t.observed_count", "t.last_observed_at"}, types: []string{"bigint", "timestamptz"}, desc: true, id: evalSuggestionID,
		key: func(s *models.EvalSuggestion) []string { return []string{strconv.Itoa(s.ObservedCount), seenKey(s)} },
	},
	models.SuggestionOrderLastObserved: {
		name: "last", columns: []string{"t.last_observed_at"}, types: []string{"timestamptz"}, desc: true, id: evalSuggestionID,
		key: func(s *models.EvalSuggestion) []string { return []string{seenKey(s)} },
	},
	models.SuggestionOrderConfidence: {
		name: "confidence", columns: []string{"t.confidence"}, types: []string{"float8"}, desc: true, id: evalSuggestionID,
		key: func(s *models.EvalSuggestion) []string {
			return []string{strconv.FormatFloat(s.Confidence, 'g', -1, 64)}
		},
	},
}

func seenKey(s *models.EvalSuggestion) string { return timeKey(*s.LastObservedAt) } // it is there while the query is

// SuggestionsOf lists the suggestions of cloud sources.
func (o Org) SuggestionsOf(ctx context.Context, sources []ids.ID, in models.SuggestionList) (map[ids.ID]*models.EvalSuggestionConnection, error) {
	return pages(ctx, o, suggestionListing("eval_suggestions t", "t.source_id", in), sources, in.Window)
}

// SuggestionsOfSkills lists the suggestions of all cloud sources that are linked to skills.
func (o Org) SuggestionsOfSkills(ctx context.Context, skills []ids.ID, in models.SuggestionList) (map[ids.ID]*models.EvalSuggestionConnection, error) {
	return pages(ctx, o, suggestionListing("eval_suggestions t JOIN cloud_sources c ON c.org_id = t.org_id AND c.id = t.source_id", "c.skill_id", in), skills, in.Window)
}

const reviewOf = "FROM suggestion_reviews r WHERE r.org_id = t.org_id AND r.source_id = t.source_id AND r.suggestion_id = t.id"

func suggestionListing(from, parent string, in models.SuggestionList) listing[models.EvalSuggestion] {
	l := listing[models.EvalSuggestion]{from: from, parent: parent, where: []string{"t.query <> ''"}, order: suggestionOrders[in.Order]}
	switch in.Status {
	case models.SuggestionStatusPending:
		l.filter("t.observed_count > 0 AND NOT EXISTS (SELECT " + reviewOf + ")")
	case models.SuggestionStatusAccepted, models.SuggestionStatusRejected:
		l.filter("EXISTS (SELECT "+reviewOf+" AND r.review_status = ?)", in.Status)
	}
	if in.Source != "" {
		l.filter("(t.provenance IN ('RUN_FAILURE', 'RUN_REGRESSION')) = ?", in.Source == models.EvidenceSourceHostedRun)
	}
	if in.Provenance != "" {
		l.filter("t.provenance = ?", in.Provenance)
	}
	if in.ShouldTrigger != "" {
		l.filter("t.should_trigger = ?", in.ShouldTrigger == "true")
	}
	if in.MinObserved > 0 {
		l.filter("t.observed_count >= ?", in.MinObserved)
	}
	if in.Contains != "" {
		l.filter("t.query ILIKE ?", contains(in.Contains))
	}
	return l
}

// EvidenceOf lists what speaks for suggestions, newest first.
func (o Org) EvidenceOf(ctx context.Context, suggestions []ids.ID, w models.Window) (map[ids.ID]*models.SuggestionEvidenceConnection, error) {
	l := listing[models.SuggestionEvidence]{from: "suggestion_evidence t", parent: "t.suggestion_id", order: order[models.SuggestionEvidence]{
		name: "observed", columns: []string{"t.observed_at"}, types: []string{"timestamptz"}, desc: true,
		key: func(e *models.SuggestionEvidence) []string { return []string{timeKey(e.ObservedAt)} },
		id:  func(e *models.SuggestionEvidence) ids.ID { return e.ID },
	}}
	l.filter("t.kind <> 'GOOD'")
	return pages(ctx, o, l, suggestions, w)
}

// maxCandidates bounds what one search for similar queries looks at, where a thousand are much the same.
const maxCandidates = 200

// SimilarTo is the batch for suggestions of the same source with similar queries, most similar first.
func (o Org) SimilarTo(ctx context.Context, suggestions []ids.ID, first int) (map[ids.ID][]*models.SimilarSuggestion, error) {
	type candidate struct {
		Of   ids.ID `bun:"of"`
		Like string `bun:"like_query"`
		models.EvalSuggestion
	}
	rows, err := query[candidate](ctx, o.pg, `SELECT s.id AS of, s.query AS like_query, n.id, n.query FROM eval_suggestions s CROSS JOIN LATERAL (
			SELECT t.id, t.query FROM eval_suggestions t WHERE t.bands && s.bands AND t.observed_count > 0 AND t.org_id = s.org_id AND t.source_id = s.source_id AND t.id <> s.id LIMIT $3
		) n WHERE s.org_id = $1 AND s.id = ANY($2)`, o.id, suggestions, maxCandidates)
	out := make(map[ids.ID][]*models.SimilarSuggestion, len(suggestions))
	for of, list := range group(rows, func(c *candidate) ids.ID { return c.Of }) {
		out[of] = models.MostSimilar(list[0].Like, column(list, func(c *candidate) *models.EvalSuggestion { return &c.EvalSuggestion }), first)
	}
	return out, err
}

// SuggestionsOfRuns lists the suggestions that runs speak for.
func (o Org) SuggestionsOfRuns(ctx context.Context, runs []ids.ID, in models.SuggestionList) (map[ids.ID]*models.EvalSuggestionConnection, error) {
	const from = `(SELECT DISTINCT e.org_id, e.run_id, e.suggestion_id FROM suggestion_evidence e WHERE e.kind <> 'GOOD') e
		JOIN eval_suggestions t ON t.org_id = e.org_id AND t.id = e.suggestion_id`
	return pages(ctx, o, suggestionListing(from, "e.run_id", in), runs, in.Window)
}

// SuggestionsOfResults is the batch for the suggestions that results of runs speak for.
func (o Org) SuggestionsOfResults(ctx context.Context, results []ids.ID) (map[ids.ID]*models.EvalSuggestion, error) {
	return childOf(query[child[models.EvalSuggestion]](ctx, o.pg, "SELECT r.id AS parent_key, "+columns[models.EvalSuggestion]()+` FROM eval_results r
		JOIN suggestion_evidence e ON e.org_id = r.org_id AND e.run_id = r.run_id AND e.origin = 'RESULT' AND e.ref = r.id::text AND e.kind <> 'GOOD'
		JOIN eval_suggestions t ON t.org_id = e.org_id AND t.id = e.suggestion_id AND t.query <> '' WHERE r.org_id = $1 AND r.id = ANY($2)`, o.id, results))
}
