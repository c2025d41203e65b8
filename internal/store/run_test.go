package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// triggerSuite makes a suite of a source with four queries, the last of which should be left alone.
func triggerSuite(t testing.TB, org store.Org, source ids.ID, changes ...func(*models.CreateSuiteInput)) *models.EvalSuite {
	t.Helper()
	return suiteOf(t, org, source, append([]func(*models.CreateSuiteInput){func(in *models.CreateSuiteInput) {
		in.SupportsNoSkill = set(new(true))
		in.CasesJSON = models.JSON(`[{"id":"a","case_kind":"trigger_query","query":"Ask A","expectation":"should_trigger","invocation_type":"implicit"},
			{"id":"b","case_kind":"trigger_query","query":"Ask B","expectation":"should_trigger"},
			{"id":"c","case_kind":"trigger_query","query":"Ask C","expectation":"should_trigger"},
			{"id":"d","case_kind":"trigger_query","query":"Leave D","expectation":"should_not_trigger"}]`)
	}}, changes...)...)
}

// report is a run with outcomes for a, b, c and d: p(assed), f(ailed), e(rror), s(kipped), or - for none.
func report(suite ids.ID, key, outcomes string) models.RecordRunInput {
	names := map[rune]string{'p': "passed", 'f': "failed", 'e': "error", 's': "skipped"}
	var results []string
	for i, o := range outcomes {
		if o != '-' {
			results = append(results, fmt.Sprintf(`{"case_id":"%c","outcome":"%s"}`, 'a'+i, names[o]))
		}
	}
	return models.RecordRunInput{SuiteID: suite, Variant: models.RunVariantSkill, RunKey: key, Results: models.JSON("[" + strings.Join(results, ",") + "]")}
}

func record(t testing.TB, org store.Org, in models.RecordRunInput) *models.EvalRun {
	t.Helper()
	r, isNew, err := org.RecordRun(t.Context(), in)
	require.NoError(t, err)
	require.True(t, isNew)
	return r
}

func results(t testing.TB, org store.Org, run ids.ID) []*models.EvalResult {
	t.Helper()
	pages, err := org.ResultsOf(t.Context(), []ids.ID{run}, models.ResultList{Window: everything})
	require.NoError(t, err)
	return pages[run].Nodes
}

func TestRecordRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := triggerSuite(t, w.acme, w.source(t, w.acme))
	in := report(s.ID, "ci 1", "pp-")
	in.Results = models.JSON(`[{"case_id":"c","outcome":"skipped"},{"case_id":"b","outcome":"failed","score":0.25,"output":"` + strings.Repeat("é", 3000) + `","error":"nope","duration_ms":5000000000,"extra":1},
		{"case_id":"a","outcome":"passed","output":"nul \u0000 here","score":null}]`)
	in.StartedAt, in.FinishedAt = set(new(noon.Add(-time.Hour))), set(new(noon))
	r := record(t, w.acme, in)
	require.Equal(t, models.RunStatusFailed, r.Status)
	require.Nil(t, r.InvalidReason)
	require.Equal(t, [5]int{4, 1, 1, 0, 1}, [5]int{r.CaseCount, r.Passed, r.Failed, r.Errored, r.Skipped})
	require.Equal(t, 1, r.Revision)
	require.Equal(t, w.owner.UserID, *r.CreatedByID)
	require.InDelta(t, 0.5, r.PassRate().Value, 0)
	stored, err := w.acme.Run(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, r, stored)

	list := results(t, w.acme, r.ID)
	require.Len(t, list, 3)
	require.Equal(t, []string{"a", "b", "c"}, []string{list[0].CaseKey, list[1].CaseKey, list[2].CaseKey}, "the order of the suite")
	require.Equal(t, "nul � here", *list[0].OutputExcerpt)
	require.Nil(t, list[0].Score)
	require.Equal(t, 6000, *list[1].OutputBytes)
	require.Equal(t, strings.Repeat("é", 2048), *list[1].OutputExcerpt, "4 KiB, whole characters")
	require.Equal(t, int64(5000000000), *list[1].DurationMs)
	require.Equal(t, models.JudgeRunner, list[1].JudgedBy)
	require.Nil(t, list[1].Judgement)
	require.Contains(t, happened(t, w.acme), "run.recorded")

	// The same run again, however its JSON is spaced.
	again := in
	again.Results = models.JSON(strings.ReplaceAll(string(in.Results), `,"score":null`, ` `))
	same, isNew, err := w.acme.RecordRun(t.Context(), again)
	require.NoError(t, err)
	require.False(t, isNew)
	require.Equal(t, r, same)
	again.Results = models.JSON(strings.Replace(string(in.Results), "nope", "yes", 1))
	_, _, err = w.acme.RecordRun(t.Context(), again)
	requireCode(t, errs.Conflict, err)
	require.EqualError(t, err, `Another run was recorded with the run_key "ci 1"`)
	theirs := triggerSuite(t, w.other, w.source(t, w.other))
	record(t, w.other, report(theirs.ID, "ci 1", "pppp"))

	// A run of a former revision, after the suite has changed.
	_, err = w.acme.UpdateSuite(t.Context(), s.ID, models.UpdateSuiteInput{CasesJSON: set(models.JSON(`[{"id":"z","case_kind":"trigger_query","query":"Z","expectation":"should_trigger"}]`))}, nil)
	require.NoError(t, err)
	old := report(s.ID, "old", "pp")
	old.Revision = set(new(1))
	require.Equal(t, 1, record(t, w.acme, old).Revision)
	_, _, err = w.acme.RecordRun(t.Context(), report(s.ID, "new", "p"))
	requireField(t, "results.0.case_id", err, "a is no case of the present revision")
	cases, err := w.acme.CasesOfRuns(t.Context(), []ids.ID{r.ID})
	require.NoError(t, err)
	require.Len(t, cases[r.ID], 4)
	revisions, err := w.acme.RevisionsOfRuns(t.Context(), []ids.ID{r.ID})
	require.NoError(t, err)
	require.Equal(t, 1, revisions[r.ID].Number)
}

func TestRecordRunInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.source(t, w.acme)
	s := triggerSuite(t, w.acme, source)
	plain := suiteOf(t, w.acme, source)
	rubric := suiteOf(t, w.acme, source, func(in *models.CreateSuiteInput) { in.VerifierKind = models.VerifierKindStructuredRubric })
	result := func(text string) func(*models.RecordRunInput) {
		return func(in *models.RecordRunInput) { in.Results = models.JSON("[" + text + "]") }
	}
	const ok = `{"case_id":"a","outcome":"passed"}`
	for name, row := range map[string]struct {
		field string
		spoil func(*models.RecordRunInput)
	}{
		"unknown case":        {"results.1.case_id", result(ok + `,{"case_id":"x","outcome":"passed"}`)},
		"the same case":       {"results.1.case_id", result(ok + "," + ok)},
		"more than cases":     {"results", result(ok + strings.ReplaceAll(strings.Repeat(`,{"case_id":"#","outcome":"passed"}`, 1), "#", "b") + `,{"case_id":"c","outcome":"passed"},{"case_id":"d","outcome":"passed"},{"case_id":"e","outcome":"passed"}`)},
		"no result":           {"results", result("")},
		"no list":             {"results", func(in *models.RecordRunInput) { in.Results = models.JSON(`{}`) }},
		"null":                {"results", func(in *models.RecordRunInput) { in.Results = models.JSON(`null`) }},
		"501 results":         {"results", result(strings.TrimSuffix(strings.Repeat(ok+",", 501), ","))},
		"no object":           {"results.0", result(`7`)},
		"no case":             {"results.0.case_id", result(`{"outcome":"passed"}`)},
		"a number for a case": {"results.0.case_id", result(`{"case_id":7,"outcome":"passed"}`)},
		"no outcome":          {"results.0.outcome", result(`{"case_id":"a"}`)},
		"another outcome":     {"results.0.outcome", result(`{"case_id":"a","outcome":"PASSED"}`)},
		"score too high":      {"results.0.score", result(`{"case_id":"a","outcome":"passed","score":1.01}`)},
		"score too low":       {"results.0.score", result(`{"case_id":"a","outcome":"passed","score":-1}`)},
		"score a string":      {"results.0.score", result(`{"case_id":"a","outcome":"passed","score":"1"}`)},
		"output too long":     {"results.0.output", result(`{"case_id":"a","outcome":"passed","output":"` + strings.Repeat("x", 256<<10+1) + `"}`)},
		"output a number":     {"results.0.output", result(`{"case_id":"a","outcome":"passed","output":1}`)},
		"negative duration":   {"results.0.duration_ms", result(`{"case_id":"a","outcome":"passed","duration_ms":-1}`)},
		"half a millisecond":  {"results.0.duration_ms", result(`{"case_id":"a","outcome":"passed","duration_ms":0.5}`)},
		"no key":              {"runKey", func(in *models.RecordRunInput) { in.RunKey = "" }},
		"long key":            {"runKey", func(in *models.RecordRunInput) { in.RunKey = strings.Repeat("x", 201) }},
		"revision 0":          {"revision", func(in *models.RecordRunInput) { in.Revision = set(new(0)) }},
		"revision 7":          {"revision", func(in *models.RecordRunInput) { in.Revision = set(new(7)) }},
		"ends first":          {"finishedAt", func(in *models.RecordRunInput) { in.StartedAt, in.FinishedAt = set(new(noon)), set(ago(1)) }},
		"version, snapshot":   {"snapshotId", func(in *models.RecordRunInput) { in.VersionID, in.SnapshotID = set(new(s.ID)), set(new(s.ID)) }},
		"no baseline": {"variant", func(in *models.RecordRunInput) {
			in.SuiteID, in.Variant, in.Results = plain.ID, models.RunVariantNoSkill, models.JSON(`[{"case_id":"1","outcome":"passed"}]`)
		}},
		"not runnable": {"suiteId", func(in *models.RecordRunInput) { in.SuiteID = rubric.ID }},
	} {
		in := report(s.ID, name, "p")
		row.spoil(&in)
		_, _, err := w.acme.RecordRun(t.Context(), in)
		requireField(t, row.field, err, name)
	}
	_, _, err := w.acme.RecordRun(t.Context(), report(ids.New(ids.Suite, noon), "unknown", "p"))
	requireCode(t, errs.NotFound, err)
	require.Zero(t, w.count(t, "SELECT count(*) FROM eval_runs"))
	require.Zero(t, w.count(t, "SELECT count(*) FROM eval_results"))
}

// A harness that breaks is not a skill that fails.
func TestInvalidRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := triggerSuite(t, w.acme, w.source(t, w.acme))
	same := models.JSON(`[{"case_id":"a","outcome":"error","error":"no such host"},{"case_id":"b","outcome":"error","error":" no such host\n"},{"case_id":"c","outcome":"skipped"}]`)
	mixed := models.JSON(`[{"case_id":"a","outcome":"error","error":"no such host"},{"case_id":"b","outcome":"error","error":"timeout"}]`)
	for name, row := range map[string]struct {
		outcomes string
		results  models.JSON
		variant  models.RunVariant
		want     models.RunStatus
		reason   string
	}{
		"all passed":           {outcomes: "pppp", want: models.RunStatusPassed},
		"passed and skipped":   {outcomes: "ps", want: models.RunStatusPassed},
		"one failed of one":    {outcomes: "f", want: models.RunStatusFailed},
		"one failed, skipped":  {outcomes: "fsss", want: models.RunStatusFailed},
		"one of two":           {outcomes: "pf", want: models.RunStatusFailed},
		"all failed":           {outcomes: "ffff", want: models.RunStatusInvalid, reason: "Every case failed: the harness may be broken."},
		"two failed, skipped":  {outcomes: "ffs", want: models.RunStatusInvalid, reason: "Every case failed: the harness may be broken."},
		"baseline fails":       {outcomes: "ffff", variant: models.RunVariantNoSkill, want: models.RunStatusFailed},
		"failed and in error":  {outcomes: "ffe", want: models.RunStatusFailed},
		"passed and in error":  {outcomes: "pe", want: models.RunStatusFailed},
		"same error":           {results: same, want: models.RunStatusInvalid, reason: "Every case ended with the same error: the harness may be broken."},
		"same, without a word": {outcomes: "ee", want: models.RunStatusInvalid, reason: "Every case ended with the same error: the harness may be broken."},
		"different errors":     {results: mixed, want: models.RunStatusFailed},
		"one error":            {outcomes: "e", want: models.RunStatusFailed},
		"all skipped":          {outcomes: "ss", want: models.RunStatusInvalid, reason: "Every case was skipped."},
	} {
		in := report(s.ID, name, row.outcomes)
		if row.results != nil {
			in.Results = row.results
		}
		if row.variant != "" {
			in.Variant = row.variant
		}
		r := record(t, w.acme, in)
		require.Equal(t, row.want, r.Status, name)
		if row.reason != "" {
			require.Equal(t, row.reason, *r.InvalidReason, name)
		} else {
			require.Nil(t, r.InvalidReason, name)
		}
	}
	page, err := w.acme.Runs(t.Context(), models.RunFilter{Status: set(new(models.RunStatusInvalid)), SuiteID: set(&s.ID), Variant: set(new(models.RunVariantSkill))}, everything)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 5)
	bySuite, err := w.acme.RunsOf(t.Context(), []ids.ID{s.ID}, models.RunList{Window: everything})
	require.NoError(t, err)
	require.Len(t, bySuite[s.ID].Nodes, 15)
}

// Failures and regressions become suggestions of the suite's source, and go with the suite.
func TestRunSuggestions(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	source := s.source(t, "pdf")
	suite := triggerSuite(t, s.Org, source)
	free := triggerSuite(t, s.Org, source, func(in *models.CreateSuiteInput) { in.SourceID = set[*ids.ID](nil) })
	first := record(t, s.Org, report(suite.ID, "1", "ppfp"))
	require.Equal(t, []string{"run_failure 1/1 Ask C"}, s.said(t, source))
	record(t, s.Org, report(suite.ID, "broken", "ffff"))
	record(t, s.Org, report(free.ID, "no source", "fpfp"))
	baseline := report(suite.ID, "baseline", "fppp")
	baseline.Variant = models.RunVariantNoSkill
	record(t, s.Org, baseline)
	require.Equal(t, []string{"run_failure 1/1 Ask C"}, s.said(t, source), "neither what is invalid, nor what is nobody's, nor a baseline")
	second := report(suite.ID, "2", "fpff")
	second.FinishedAt = set(ago(time.Minute))
	last := record(t, s.Org, second)
	require.Equal(t, []string{"run_failure 2/2 Ask C", "run_regression 1/2 Ask A", "run_regression 1/2 Leave D"}, s.said(t, source))
	for _, x := range s.suggestions(t, source) {
		require.Equal(t, x.Query != "Leave D", x.ShouldTrigger)
		require.Equal(t, x.Query == "Ask A", x.InvocationType != nil)
		require.Equal(t, models.EvidenceSourceHostedRun, x.Source())
		if x.Query == "Ask A" {
			require.Equal(t, noon.Add(-time.Minute), *x.LastObservedAt, "when the run was over")
			evidence, err := s.EvidenceOf(t.Context(), []ids.ID{x.ID}, everything)
			require.NoError(t, err)
			require.Equal(t, last.ID, *evidence[x.ID].Nodes[0].RunID)
			require.Nil(t, evidence[x.ID].Nodes[0].SessionKey())
			require.Equal(t, "Observed twice: once an eval run failed that had passed before and once all went well.", x.Rationale())
		}
	}
	previous, err := s.PreviousRuns(t.Context(), []ids.ID{first.ID, last.ID})
	require.NoError(t, err)
	require.Equal(t, map[ids.ID]ids.ID{last.ID: first.ID}, map[ids.ID]ids.ID{last.ID: previous[last.ID].ID})
	require.NotContains(t, previous, first.ID)

	// One suggestion of telemetry and of runs.
	s.push(t, models.Canonical{Sessions: []models.SessionRecord{session("x")}, Prompts: []models.PromptRecord{prompt("x", "x", "ask, c")}, Invocations: []models.InvocationRecord{matched("x", "x", "x", false)}})
	s.suggest(t)
	require.Contains(t, s.said(t, source), "run_failure 3/3 Ask C")

	// The same run again is nothing new.
	_, isNew, err := s.RecordRun(t.Context(), second)
	require.NoError(t, err)
	require.False(t, isNew)
	require.Contains(t, s.said(t, source), "run_failure 3/3 Ask C")

	require.NoError(t, s.DeleteSuite(t.Context(), suite.ID))
	require.Equal(t, []string{"missed_query 1/1 ask, c"}, s.said(t, source))
	require.Equal(t, 1, s.count(t, "eval_runs"))
	s.requireSuggestions(t)
}

// Twenty runners record the same run, while the suite is changed and others record theirs.
func TestRecordRunAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := triggerSuite(t, w.acme, w.source(t, w.acme))
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := map[string][]bool{}
	for n := range 40 {
		key, in := "same", report(s.ID, "same", "pf")
		if n%4 == 0 {
			key, in = fmt.Sprint(n), report(s.ID, fmt.Sprint(n), "fp")
		}
		in.Revision = set(new(1))
		wg.Go(func() {
			_, isNew, err := w.acme.RecordRun(t.Context(), in)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			made[key] = append(made[key], isNew)
			mu.Unlock()
		})
		if n%10 == 0 {
			wg.Go(func() {
				if _, err := w.acme.UpdateSuite(t.Context(), s.ID, rename(fmt.Sprint(n)), nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	require.Len(t, made, 11)
	for key, list := range made {
		require.Len(t, slices.DeleteFunc(list, func(isNew bool) bool { return !isNew }), 1, key)
	}
	require.Equal(t, 11, w.count(t, "SELECT count(*) FROM eval_runs"))
	require.Equal(t, 22, w.count(t, "SELECT count(*) FROM eval_results"))
	require.Equal(t, 22, w.count(t, "SELECT (sum(observed_count) + sum(good))::int FROM eval_suggestions"))
}

func TestCompareRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.source(t, w.acme)
	s := triggerSuite(t, w.acme, source)
	base, head := record(t, w.acme, report(s.ID, "1", "pfpf")), record(t, w.acme, report(s.ID, "2", "fpp-"))
	c, err := w.acme.CompareRuns(t.Context(), base.ID, head.ID)
	require.NoError(t, err)
	require.Equal(t, "b", c.Fixed[0].CaseKey)
	require.Equal(t, "a", c.Broken[0].CaseKey)
	require.Len(t, c.Fixed, 1)
	require.Len(t, c.Broken, 1)
	require.Equal(t, [3]int{1, 0, 1}, [3]int{c.PassedTwice, c.FailedTwice, c.NotCompared})
	require.InDelta(t, 1, c.PValue(), 0)
	require.Nil(t, c.Caveat)
	for _, id := range []ids.ID{c.Broken[0].BaseID, c.Broken[0].HeadID} {
		found, err := w.acme.ResultsByID(t.Context(), []ids.ID{id})
		require.NoError(t, err)
		require.Equal(t, "a", found[id].CaseKey)
	}

	invalid := record(t, w.acme, report(s.ID, "3", "ffff"))
	c, err = w.acme.CompareRuns(t.Context(), base.ID, invalid.ID)
	require.NoError(t, err)
	require.Equal(t, "The measured run is invalid: Every case failed: the harness may be broken.", *c.Caveat)
	other := record(t, w.acme, report(triggerSuite(t, w.acme, source).ID, "4", "pppp"))
	_, err = w.acme.CompareRuns(t.Context(), base.ID, other.ID)
	requireField(t, "headId", err, "another suite")
	_, err = w.acme.CompareRuns(t.Context(), s.ID, base.ID)
	requireCode(t, errs.NotFound, err)
	require.ErrorContains(t, err, "is the id of an eval suite, not of an eval run")
}

// Verdicts of the server are those of record.
func TestJudgedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := suiteOf(t, w.acme, w.source(t, w.acme), func(in *models.CreateSuiteInput) {
		in.VerifierKind = models.VerifierKindDeterministic
		in.CasesJSON = models.JSON(`[{"id":"a","case_kind":"exact_match","input":"i","expected":"30.48","trim":true},
			{"id":"b","case_kind":"json_schema","input":"i","schema":{"type":"object","required":["value"]}},
			{"id":"c","case_kind":"boolean_assertion","input":"i","assertion":{"type":"contains","value":"cannot"}},
			{"id":"d","case_kind":"boolean_assertion","input":"i","assertion":"it is polite"}]`)
	})
	r := record(t, w.acme, models.RecordRunInput{SuiteID: s.ID, Variant: models.RunVariantSkill, RunKey: "k", Results: models.JSON(`[
		{"case_id":"a","outcome":"failed","output":" 30.48\n"},{"case_id":"b","outcome":"passed","output":"{\"unit\":1}"},{"case_id":"c","outcome":"failed"},{"case_id":"d","outcome":"passed","output":"please"}]`)})
	require.Equal(t, [2]int{2, 2}, [2]int{r.Passed, r.Failed})
	list := results(t, w.acme, r.ID)
	require.Equal(t, []models.CaseOutcome{"PASSED", "FAILED", "FAILED", "PASSED"}, []models.CaseOutcome{list[0].Outcome, list[1].Outcome, list[2].Outcome, list[3].Outcome})
	require.Equal(t, []models.Judge{"SERVER", "SERVER", "RUNNER", "RUNNER"}, []models.Judge{list[0].JudgedBy, list[1].JudgedBy, list[2].JudgedBy, list[3].JudgedBy})
	require.Equal(t, []bool{true, true, false, false}, []bool{list[0].Disagrees(), list[1].Disagrees(), list[2].Disagrees(), list[3].Disagrees()})
	require.Equal(t, "The output does not fit the schema: at '': missing property 'value'", *list[1].Judgement)
	pages, err := w.acme.ResultsOf(t.Context(), []ids.ID{r.ID}, models.ResultList{Window: everything, Disagrees: "true", Outcome: models.CaseOutcomePassed})
	require.NoError(t, err)
	require.Len(t, pages[r.ID].Nodes, 1)
	require.Equal(t, "a", pages[r.ID].Nodes[0].CaseKey)
	pages, err = w.acme.ResultsOf(t.Context(), []ids.ID{r.ID}, models.ResultList{Window: everything, Disagrees: "false"})
	require.NoError(t, err)
	require.Len(t, pages[r.ID].Nodes, 2)
}
