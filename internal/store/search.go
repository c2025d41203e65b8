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

// Search finds objects of the given types by their texts, the best first. What is nearly so is looked for where there is not enough of what is so.
func (o Org) Search(ctx context.Context, sought string, types []models.SearchType, first int) ([]*models.SearchHit, error) {
	words := models.SearchWords(sought)
	if len(words) == 0 || len(types) == 0 {
		return []*models.SearchHit{}, nil
	}
	found, err := o.candidates(ctx, words, types, // what begins so, whatever stands between words, and what has words that begin so
		candidatesBy("left(t.folded, 200) >= left($3, 200) AND left(t.folded, 200) < left($3, 200) || U&'\\+10FFFF' ORDER BY left(t.folded, 200)", maxByPrefix),
		candidatesBy("t.keys @@ (SELECT search_beginnings($4))", maxByWord))
	hits := models.RankHits(sought, found, first)
	if err != nil || len(hits) == first {
		return hits, err
	}
	near, err := o.candidates(ctx, words, types, // what has words, or is as a whole, nearly so
		candidatesBy("t.keys @@ (SELECT search_nearly($4))", maxBySlip), candidatesBy("t.keys @@ (SELECT search_nearly(ARRAY[$3]))", maxBySlip))
	return models.RankHits(sought, append(found, near...), first), err
}

// candidates are texts of several sorts, each with a limit, so that the many of one sort do not hide the few of another.
func (o Org) candidates(ctx context.Context, words []string, types []models.SearchType, sorts ...string) ([]*models.SearchText, error) {
	return query[models.SearchText](ctx, o.pg, "SELECT DISTINCT c.object_id, c.type, c.text FROM ("+strings.Join(sorts, " UNION ALL ")+") c", o.id, types, strings.Join(words, ""), words)
}

func candidatesBy(where string, limit int) string {
	return "(SELECT t.object_id, t.type, t.text FROM search_texts t WHERE t.org_id = $1 AND t.type = ANY($2) AND " + where + " LIMIT " + strconv.Itoa(limit) + ")"
}
