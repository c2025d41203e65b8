package store_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// texts are what a search finds, best first.
func texts(t *testing.T, o store.Org, words string) []string {
	t.Helper()
	hits, err := o.Search(t.Context(), words, models.AllSearchType, 20)
	require.NoError(t, err)
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Text)
	}
	return out
}

// requireSearchable: the table is what the view says it should be, whatever has happened.
func (w world) requireSearchable(t *testing.T) {
	t.Helper()
	require.Zero(t, w.count(t, `SELECT count(*) FROM (
		(SELECT org_id, object_id, type, field, text FROM search_objects WHERE search_words(text) <> '{}' EXCEPT SELECT org_id, object_id, type, field, text FROM search_texts)
		UNION ALL (SELECT org_id, object_id, type, field, text FROM search_texts EXCEPT SELECT org_id, object_id, type, field, text FROM search_objects)) d`))
}

// misspell makes n mistakes in a name: a letter more, less, another, or two that changed places.
func misspell(r *rand.Rand, name string, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	for range n {
		i, c := r.IntN(len(name)-1), string(letters[r.IntN(len(letters))])
		switch r.IntN(4) {
		case 0:
			name = name[:i] + c + name[i:]
		case 1:
			name = name[:i] + name[i+1:]
		case 2:
			name = name[:i] + c + name[i+1:]
		default:
			name = name[:i] + name[i+1:i+2] + name[i:i+1] + name[i+2:]
		}
	}
	return name
}

// Names of five letters and more are found with one mistake and with two, whichever they are.
func TestSearchForgives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{"forms", "papers", "invoice", "quarterly", "spreadsheet-reader", "translate-contracts", "Ärger-im-Büro"}
	for _, name := range names {
		nameSkill(t, w.acme, name)
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // any will do
	for range 400 {
		name := names[r.IntN(len(names)-1)]
		word := strings.Split(name, "-")[0]
		typed := misspell(r, word, 1+r.IntN(2))
		require.Contains(t, texts(t, w.acme, typed), name, "%s for %s, seed %d", typed, word, seed)
	}
	for typed, name := range map[string]string{
		"SPREADSHEET reader": "spreadsheet-reader", "reader spreadsheet": "spreadsheet-reader", "spreadsheetreader": "spreadsheet-reader", "spredsheetreadr": "spreadsheet-reader",
		"read": "spreadsheet-reader", "spr": "spreadsheet-reader", "s": "spreadsheet-reader", "contrcats": "translate-contracts", "quartel": "quarterly", "arger": "Ärger-im-Büro", "BÜRO": "Ärger-im-Büro",
	} {
		require.Contains(t, texts(t, w.acme, typed), name, typed)
	}
	for _, typed := range []string{"xyzzy", "formsheet", "spreadsheet invoice", "pap papers forms"} {
		require.Empty(t, texts(t, w.acme, typed), typed)
	}
}

// The same, then what begins so, then what has the word, then what is nearly so.
func TestSearchRanks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"fill-forms", "form", "forms-and-papers", "forms", "Forms", "formz", "norms"} {
		nameSkill(t, w.acme, name)
	}
	hits, err := w.acme.Search(t.Context(), "forms", []models.SearchType{models.SearchTypeSkill}, 20)
	require.NoError(t, err)
	got := []string{}
	for i, h := range hits {
		require.Equal(t, models.SearchTypeSkill, h.Type)
		require.Greater(t, h.Score, 0.0)
		if i > 0 {
			require.LessOrEqual(t, h.Score, hits[i-1].Score)
		}
		got = append(got, h.Text+" "+h.Match.Wire())
	}
	require.Equal(t, []string{"Forms exact", "forms exact", "forms-and-papers prefix", "fill-forms word", "form fuzzy", "formz fuzzy", "norms fuzzy"}, got)
	require.Equal(t, []*models.HighlightPart{{Text: "fill-"}, {Text: "forms", Matched: true}}, hits[3].Highlight)
	hits, err = w.acme.Search(t.Context(), "forms", models.AllSearchType, 2)
	require.NoError(t, err)
	require.Len(t, hits, 2)
	hits, err = w.acme.Search(t.Context(), "forms", []models.SearchType{models.SearchTypeSuite}, 2)
	require.NoError(t, err)
	require.Empty(t, hits)
}

// Whatever somebody types is a question, not a pattern or a piece of SQL.
func TestSearchTakesAnything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nameSkill(t, w.acme, "percent % and _ and \\")
	nameSkill(t, w.acme, "party 🎉 time")
	nameSkill(t, w.acme, "帳票")
	for _, typed := range []string{"", " ", "\t\n", "%", "_", `\`, "'", `"`, "--", "{}", "^", "^f", "%_\\", "'); DROP TABLE skills; --", strings.Repeat("x", 10<<10), strings.Repeat("a b ", 50), "\u0301", "\u202e", "\ufeff"} {
		require.NotContains(t, texts(t, w.acme, typed), "percent % and _ and \\", "%q", typed)
	}
	require.Equal(t, []string{"percent % and _ and \\"}, texts(t, w.acme, "percent"))
	require.Equal(t, []string{"party 🎉 time"}, texts(t, w.acme, "🎉"))
	require.Equal(t, []string{"帳票"}, texts(t, w.acme, "帳"))
}

// What changes its name is found under the new one at once, and what is gone is not found.
func TestSearchFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	f := w.furnished(t, w.acme, w.owner)
	w.requireSearchable(t)

	s := suite(t, w.acme, "before")
	require.Equal(t, []string{"before"}, texts(t, w.acme, "before"))
	_, err := w.acme.UpdateSuite(ctx, s.ID, rename("afterwards"), nil)
	require.NoError(t, err)
	require.Empty(t, texts(t, w.acme, "before"))
	require.Equal(t, []string{"afterwards"}, texts(t, w.acme, "afterwards"))
	_, err = w.acme.ArchiveSuite(ctx, s.ID, true)
	require.NoError(t, err)
	require.Empty(t, texts(t, w.acme, "afterwards"), "archived")
	_, err = w.acme.ArchiveSuite(ctx, s.ID, false)
	require.NoError(t, err)
	require.Equal(t, []string{"afterwards"}, texts(t, w.acme, "afterwards"), "restored")
	require.NoError(t, w.acme.DeleteSuite(ctx, s.ID))
	require.Empty(t, texts(t, w.acme, "afterwards"), "deleted")

	_, err = w.acme.UpdateSource(ctx, f.source, models.UpdateSourceInput{Label: set(new("folder of mine"))})
	require.NoError(t, err)
	require.Equal(t, []string{"folder of mine"}, texts(t, w.acme, "mine folder"))
	_, err = w.acme.UpdateEntry(ctx, f.entry, models.UpdateEntryInput{Description: set(new("reads whatever is printed"))})
	require.NoError(t, err)
	require.Equal(t, []string{"reads whatever is printed"}, texts(t, w.acme, "printed"))
	_, err = w.acme.RenameRepository(ctx, 77, "elsewhere/pdf", "elsewhere/moved")
	require.NoError(t, err)
	require.Equal(t, []string{"elsewhere/moved", "elsewhere/moved"}, texts(t, w.acme, "moved"), "a source and a connection")
	u, err := w.acme.AddMember(ctx, "zacharias@example.com", models.RoleMember)
	require.NoError(t, err)
	require.Equal(t, []string{"zacharias@example.com"}, texts(t, w.acme, "zacharis"))
	_, err = w.acme.RemoveMember(ctx, u.ID)
	require.NoError(t, err)
	require.Empty(t, texts(t, w.acme, "zacharias"), "who has left")
	require.Len(t, texts(t, w.acme, "secret question"), 2)
	_, err = w.acme.EraseSession(ctx, "secret")
	require.NoError(t, err)
	_, err = w.acme.ClearReview(ctx, f.source, f.suggestion)
	require.NoError(t, err)
	require.Empty(t, texts(t, w.acme, "secret question"), "erased")
	require.NoError(t, w.acme.DeleteAlert(ctx, f.alert))
	require.NoError(t, w.acme.DeleteEntry(ctx, f.entry))
	require.NoError(t, w.acme.DeleteSource(ctx, f.source))
	w.requireSearchable(t)
	dbtest.Exec(t, w.url, "UPDATE skills SET name = 'renamed', status = 'HEALTHY' WHERE id = $1", f.skill)
	w.requireSearchable(t)
}

// Among very many names a search looks at a bounded number of candidates, and still finds the right one.
func TestSearchAmongMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dbtest.Exec(t, w.url, `INSERT INTO skills (org_id, id, name, created_at) SELECT $1, gen_random_uuid(), 'customer-' || substr(md5(i::text), 1, 8) || '-' || i, now() FROM generate_series(1, 1000) AS i`, w.acme.ID())
	nameSkill(t, w.acme, "customer-quarterly-report")
	dbtest.Exec(t, w.url, "ANALYZE search_texts")
	for _, typed := range []string{"customer-quarterly-report", "quarterly", "qarterly", "customer quartelry", "quarterly customer", "custmer quarterly"} {
		before := w.Statements()
		require.Contains(t, texts(t, w.acme, typed), "customer-quarterly-report", typed)
		require.LessOrEqual(t, w.Statements()-before, int64(2))
	}
	before := w.Statements()
	require.Len(t, texts(t, w.acme, "customer"), 20)
	require.EqualValues(t, 1, w.Statements()-before, "there is enough of what is so")
}
