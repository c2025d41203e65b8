package store

import (
	"context"
	"strconv"
	"strings"

	"skillgraph/models"
)

// How many candidates of each sort a search holds against the query: it takes no longer, whatever there is.
const (
	maxByPrefix = 100
	maxByWord   = 200
	maxBySlip   = 300
)

// Search finds objects of the given types by their texts, the best first.
func (o Org) Search(ctx context.Context, sought string, types []models.SearchType, first int) ([]*models.SearchHit, error) {
	words := models.SearchWords(sought)
	if len(words) == 0 || len(types) == 0 {
		return []*models.SearchHit{}, nil
	}
	candidates, err := o.candidates(ctx, words, types)
	if err != nil {
		return nil, err
	}
	return models.RankHits(sought, candidates, first), nil
}

// candidates are texts that begin with the words, whatever stands between them; texts with words that begin so; texts with words that are nearly so; and texts
// that are nearly so as a whole. A limit for each keeps the many of one sort from hiding the few of another.
func (o Org) candidates(ctx context.Context, words []string, types []models.SearchType) ([]*models.SearchText, error) {
	kinds := []string{
		sortOf("left(t.folded, 200) >= left($3, 200) AND left(t.folded, 200) < left($3, 200) || U&'\\+10FFFF' ORDER BY left(t.folded, 200)", maxByPrefix),
		sortOf("t.keys @@ (SELECT search_beginnings($4))", maxByWord),
		sortOf("t.keys @@ (SELECT search_nearly($4))", maxBySlip),
		sortOf("t.keys @@ (SELECT search_nearly(ARRAY[$3]))", maxBySlip),
	}
	return query[models.SearchText](ctx, o.pg, "SELECT DISTINCT c.object_id, c.type, c.text FROM ("+strings.Join(kinds, " UNION ALL ")+") c", o.id, types, strings.Join(words, ""), words)
}

func sortOf(where string, limit int) string {
	return "(SELECT t.object_id, t.type, t.text FROM search_texts t WHERE t.org_id = $1 AND t.type = ANY($2) AND " + where + " LIMIT " + strconv.Itoa(limit) + ")"
}
