package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// combinations makes a suite of every kind there can be, half of them archived, some with a source.
func combinations(t *testing.T, w world, source ids.ID) []*models.EvalSuite {
	t.Helper()
	byKind := map[models.SuiteKind]string{
		models.SuiteKindTriggerQuery:     `{"case_kind":"trigger_query","query":"q","expectation":"should_trigger"}`,
		models.SuiteKindLLMRubric:        `{"case_kind":"llm_rubric","prompt":"p","rubric":"r"}`,
		models.SuiteKindExactMatch:       `{"case_kind":"exact_match","input":"i","expected":"x"}`,
		models.SuiteKindJSONSchema:       `{"case_kind":"json_schema","input":"i","schema":true}`,
		models.SuiteKindBooleanAssertion: `{"case_kind":"boolean_assertion","input":"i","assertion":"holds"}`,
		models.SuiteKindTaskPackage:      `{"case_kind":"task_package","environment_ref":"https://example.com/e.tgz"}`,
	}
	mixed := map[models.VerifierKind]string{
		models.VerifierKindLLMJudge:         byKind[models.SuiteKindTriggerQuery] + "," + byKind[models.SuiteKindLLMRubric],
		models.VerifierKindDeterministic:    byKind[models.SuiteKindExactMatch] + "," + byKind[models.SuiteKindTaskPackage],
		models.VerifierKindStructuredRubric: byKind[models.SuiteKindTriggerQuery] + "," + byKind[models.SuiteKindTaskPackage],
	}
	names := []string{"Plain", "50% off", "under_score", `back\slash`, "plain too"}
	made := []*models.EvalSuite{}
	for _, from := range models.AllSuiteSourceKind {
		for _, verifier := range models.AllVerifierKind {
			for _, kind := range models.AllSuiteKind {
				in := models.CreateSuiteInput{Name: names[len(made)%len(names)], SourceKind: from, VerifierKind: verifier, CasesJSON: models.JSON("[" + byKind[kind] + "]")}
				if kind == models.SuiteKindMixed {
					in.CasesJSON = models.JSON("[" + mixed[verifier] + "]")
				}
				if len(made)%3 == 0 {
					in.SourceID = set(&source)
				}
				s, err := w.acme.CreateSuite(t.Context(), in)
				if errs.CodeOf(err) == errs.Invalid {
					continue // this verifier does not take such cases
				}
				require.NoError(t, err)
				if len(made)%2 == 1 {
					s, err = w.acme.ArchiveSuite(t.Context(), s.ID, true)
					require.NoError(t, err)
				}
				made = append(made, s)
			}
		}
	}
	require.Len(t, made, 4*(3+5+7))
	return made
}

// maybe is every value of a filter, and none.
func maybe[T any](values ...T) []*T {
	out := []*T{nil}
	for i := range values {
		out = append(out, &values[i])
	}
	return out
}

func is[T comparable](want *T, got T) bool { return want == nil || *want == got }

func TestSuiteFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.source(t, w.acme)
	made := combinations(t, w, source)
	slices.SortFunc(made, documented[models.SuiteOrderCreatedAt])
	hits := 0
	for _, sourceID := range maybe(source) {
		for _, from := range maybe(models.AllSuiteSourceKind...) {
			for _, verifier := range maybe(models.AllVerifierKind...) {
				for _, runnable := range maybe(true, false) {
					for _, archived := range maybe(true, false) {
						for _, name := range maybe("pLAIN", "%", "_", `\`) {
							f := models.SuiteFilter{
								SourceID: set(sourceID), SourceKind: set(from), VerifierKind: set(verifier), Runnable: set(runnable), Archived: set(archived), NameContains: set(name),
							}
							want := []ids.ID{}
							for _, s := range made {
								if (sourceID == nil || s.SourceID != nil) && is(from, s.SourceKind) && is(verifier, s.VerifierKind) && is(runnable, s.Runnable()) &&
									(archived != nil && *archived) == (s.ArchivedAt != nil) &&
									(name == nil || strings.Contains(strings.ToLower(s.Name), strings.ToLower(*name))) {
									want = append(want, s.ID)
								}
							}
							page, err := w.acme.Suites(t.Context(), f, models.SuiteOrderCreatedAt, models.Window{Limit: 100})
							require.NoError(t, err)
							require.Equal(t, want, suiteIDs(page.Nodes))
							hits += len(want)
						}
					}
				}
			}
		}
	}
	require.Positive(t, hits)
	page, err := w.acme.Suites(t.Context(), models.SuiteFilter{NameContains: set(new("no such name"))}, models.SuiteOrderName, everything)
	requireEmptyPage(t, page, err)
}

// Filters and cursors go together: a filtered list is paged like any other.
func TestPagesOfFilteredSuites(t *testing.T) {
	t.Parallel()
	w, made := tied(t, 12)
	made = slices.DeleteFunc(made, func(s *models.EvalSuite) bool { return s.Name != "name 1" && s.Name != "name 2" })
	_, err := w.acme.ArchiveSuite(t.Context(), made[0].ID, true)
	require.NoError(t, err)
	for _, name := range []string{"name 1", "name 2"} {
		some := slices.DeleteFunc(slices.Clone(made[1:]), func(s *models.EvalSuite) bool { return s.Name != name })
		slices.SortFunc(some, documented[models.SuiteOrderUpdatedAt])
		w.suites(models.SuiteOrderUpdatedAt, models.SuiteFilter{NameContains: set(new("E " + name[5:]))}).check(t, suiteIDs(some))
	}
}
