package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// demoBundle is what somebody has sent to the demo's owner: how many of the sender's sessions were graded, and how they went.
type demoBundle struct {
	by       int // which contributor
	skill    string
	graded   int
	passes   float64
	positive []string
	negative string
}

var demoBundles = []demoBundle{
	{0, "pdf-forms", 60, .95, []string{"Fill in the visa form", "Which boxes of this PDF are still empty?"}, "Draw a form for me"},
	{1, "pdf-forms", 12, .75, []string{"Put my address into every page of this PDF"}, "Summarize this PDF"},
	{0, "docx-edit", 25, .8, []string{"Accept the changes of the lawyers", "Make this contract a template"}, "Convert the letter to PDF"},
	{2, "docx-edit", 8, .5, []string{"Fix the numbering of the headings"}, "Fix the typos in this mail"},
	{1, "sql-review", 30, .6, []string{"Will this migration lock the table?"}, "Write a query for the ten best customers"},
}

// bundles sends them.
func bundles(ctx context.Context, to ids.ID, contributors []actor, now time.Time) error {
	for i, b := range demoBundles {
		queries := make([]string, len(b.positive))
		for n, q := range b.positive {
			queries[n] = fmt.Sprintf(`{"query": %q, "invocation_type": "implicit", "source": "skill_log"}`, q)
		}
		s, err := models.SubmitBundleInput{CreatorID: to, SkillName: b.skill, Bundle: models.JSON(fmt.Sprintf(`{
			"schema_version": "1.1", "skill_name": %q, "contributor_id": %q, "created_at": %q, "tool_version": "2.3.%d", "agent_type": "cli", "sanitization_level": "conservative",
			"positive_queries": [%s], "eval_entries": [{"query": %q, "should_trigger": false}],
			"grading_summary": {"total_sessions": %d, "graded_sessions": %d, "average_pass_rate": %v, "expectation_count": %d}, "evolution_summary": null,
			"session_metrics": {"total_sessions": %d, "avg_assistant_turns": 5.5, "avg_tool_calls": 9.2, "avg_errors": 0.4, "top_tools": [{"tool": "read", "count": %d}]}}`,
			b.skill, ids.New(ids.Unknown, now), now.AddDate(0, 0, -i).Format(time.RFC3339), i, strings.Join(queries, ", "), b.negative, 2*b.graded, b.graded, b.passes, 4*b.graded, 2*b.graded, 9*b.graded))}.Submission()
		if err != nil {
			return err
		}
		if _, _, err := contributors[b.by].SubmitBundle(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// demoSignals is how a skill is seen by opted-in people, from four weeks ago until now. Two are below the threshold: one has too few
// signals, the other too few cohorts.
var demoSignals = []struct {
	skill     string
	weeks     [4]int // signals that tell that it fired
	perWeek   int
	misses    int // in every week; the other signals tell that it rightly kept quiet
	cohorts   int
	buckets   []string
	onlyToday bool
}{
	{skill: "pdf-forms", weeks: [4]int{37, 38, 36, 38}, perWeek: 40, misses: 1, cohorts: 9, buckets: []string{"fill a form", "merge files"}},
	{skill: "docx-edit", weeks: [4]int{14, 13, 14, 14}, perWeek: 26, misses: 12, cohorts: 7, buckets: []string{"edit", "templates"}},
	{skill: "sql-review", weeks: [4]int{27, 28, 26, 13}, perWeek: 30, cohorts: 6, buckets: []string{"migrations"}},
	{skill: "api-docs", weeks: [4]int{0, 0, 0, 5}, perWeek: 6, misses: 1, cohorts: 4, onlyToday: true},
	{skill: "translate", weeks: [4]int{5, 5, 5, 5}, perWeek: 6, misses: 1, cohorts: 2},
}

// signals sends them, and draws what follows from them: different words for one skill, and a look at another.
func signals(ctx context.Context, s *store.Store, by actor, now time.Time) error {
	for _, d := range demoSignals {
		var list []*models.Signal
		for week, triggered := range d.weeks {
			if d.onlyToday && week < 3 {
				continue
			}
			for i := range d.perWeek {
				x := &models.Signal{
					SourceKey: fmt.Sprintf("%s-%d-%d", d.skill, week, i), SkillName: &d.skill, SignalType: "skill_session", UserCohort: new(fmt.Sprint("cohort ", i%d.cohorts)),
					Confidence: new(.6 + float64(i%4)/10), Triggered: new(i < triggered), Hour: new(now.AddDate(0, 0, -7*(3-week)).UTC().Truncate(time.Hour)),
				}
				if i >= d.perWeek-d.misses {
					x.SignalType, x.Missed = "missed_trigger", true
				}
				if len(d.buckets) > 0 {
					x.QueryBucket = &d.buckets[i%len(d.buckets)]
				}
				list = append(list, x)
			}
		}
		if _, err := by.AddSignals(ctx, list); err != nil {
			return err
		}
	}
	return s.Org(by.ID(), ids.ID{}).Propose(ctx)
}
