package demo

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// skill is how a skill of the demo behaves. Rates are what its figures tend to.
type skill struct {
	name       string
	perDay     float64 // sessions on a working day
	triggers   float64 // share of sessions in which it fires
	confidence float64
	passes     float64
	rival      string  // fires in its place when it does not
	silentFor  int     // whole days without a session until now
	brokenFor  int     // days since a release that broke it
	brokenTo   float64 // what its pass rate fell to
	prompts    []string
}

var demoSkills = []skill{
	{name: "pdf-forms", perDay: 9, triggers: .92, confidence: .91, passes: .93, prompts: []string{"Fill in the tax form in ~/forms/1040.pdf", "Merge these two invoices into one PDF", "Which fields of this form are required?"}},
	{name: "docx-edit", perDay: 5, triggers: .55, confidence: .58, passes: .81, rival: "pdf-forms", prompts: []string{"Fix the typos in contract.docx", "Turn this letter into a template", "Accept all changes in the document"}},
	{name: "sql-review", perDay: 7, triggers: .88, confidence: .86, passes: .9, brokenFor: 18, brokenTo: .35, prompts: []string{"Is this query going to scan the whole table?", "Review the migration in db/0042.sql"}},
	{name: "changelog", perDay: 4, triggers: .95, confidence: .94, passes: .96, prompts: []string{"Write the changelog line for this branch", "What changed since v2.3?"}},
	{name: "incident-notes", perDay: 3, triggers: .9, confidence: .88, passes: .85, silentFor: 12, prompts: []string{"Start the timeline for the outage", "Who was paged at 02:14?"}},
	{name: "unit-conversion", perDay: 6, triggers: .97, confidence: .97, passes: .98, prompts: []string{"12 inches in cm", "How much is 5 miles in kilometres?"}},
	{name: "csv-clean", perDay: 4, triggers: .8, confidence: .74, passes: .63, prompts: []string{"Remove the duplicates from customers.csv", "Why does this column have two date formats?"}},
	{name: "api-docs", perDay: 2, triggers: .72, confidence: .7, passes: .78, prompts: []string{"Document the endpoints in handlers.go"}},
	{name: "translate", perDay: 3, triggers: .93, confidence: .9, passes: .88, prompts: []string{"Translate the release notes into French"}},
	{name: "test-writer", perDay: 5, triggers: .84, confidence: .82, passes: .74, prompts: []string{"Write tests for the parser", "Cover the error paths of upload.go"}},
	{name: "deploy-check", perDay: 2, triggers: .6, confidence: .52, passes: .7, rival: "changelog", prompts: []string{"Is it safe to deploy today?"}},
	{name: "onboarding", perDay: .1, triggers: .9, confidence: .85, passes: .9, prompts: []string{"Where do I find the style guide?"}},
}

const demoDays = 90

var (
	platforms = []string{"cli", "ide", "web"}
	demoModel = []string{"large-3", "large-4", "small-2"}
)

// telemetry pushes 90 days of sessions, a week at a time, while the registry goes its way: a version is published with what
// was known of its skill by then, and sessions report the version that was current.
func telemetry(ctx context.Context, by actor, skills []skill, shelf *shelf, seed uint64) error {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 1)), org: by.ID().String()[:8], now: shelf.clock.now, hashes: shelf.hashes}
	for day := demoDays; day >= 0; day-- {
		if slices.ContainsFunc(shelf.steps, func(s step) bool { return s.ago == day }) {
			if err := g.push(ctx, by); err != nil {
				return err
			}
		}
		if err := shelf.day(ctx, day); err != nil {
			return err
		}
		for _, s := range skills {
			g.day(s, day)
		}
		if day%7 == 0 {
			if err := g.push(ctx, by); err != nil {
				return err
			}
		}
	}
	return nil
}

type generator struct {
	rand *rand.Rand
	org  string
	now  time.Time
	n    int

	hashes map[string]string // of the versions that are current, by skill
	models.Canonical
}

func (g *generator) push(ctx context.Context, by actor) error {
	_, err := by.Push(ctx, &models.Push{ID: ids.New(ids.Push, g.now), Canonical: g.Canonical})
	g.Canonical = models.Canonical{}
	return err
}

// day makes the sessions of a skill on one day, so many days ago.
func (g *generator) day(s skill, ago int) {
	if s.silentFor > 0 && ago <= s.silentFor {
		return
	}
	midnight := g.now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -ago)
	expected := s.perDay
	if wd := midnight.Weekday(); wd == time.Saturday || wd == time.Sunday {
		expected *= .25
	}
	for range int(math.Floor(expected + g.rand.Float64())) {
		at := midnight.Add(8*time.Hour + time.Duration(g.rand.IntN(11*3600))*time.Second)
		if at.Before(g.now) {
			g.session(s, at, s.brokenFor > 0 && ago < s.brokenFor)
		}
	}
}

// session is one session in which a skill is seen.
func (g *generator) session(s skill, at time.Time, broken bool) {
	g.n++
	id := fmt.Sprintf("%s-session-%d", g.org, g.n)
	end := at.Add(time.Duration(2+g.rand.IntN(40)) * time.Minute)
	done := "completed"
	g.Sessions = append(g.Sessions, models.SessionRecord{
		SessionID: id, Platform: &platforms[g.rand.IntN(len(platforms))], Model: &demoModel[g.rand.IntN(len(demoModel))],
		StartedAt: &at, EndedAt: &end, CompletionStatus: &done,
	})
	text, kind, yes := s.prompts[g.rand.IntN(len(s.prompts))], "user", true
	prompt := id + "-prompt"
	g.Prompts = append(g.Prompts, models.PromptRecord{PromptID: prompt, SessionID: id, OccurredAt: &at, PromptText: &text, PromptKind: &kind, IsActionable: &yes})
	fires := g.rand.Float64() < s.triggers
	g.invoke(s, id, prompt, at, fires)
	if !fires && s.rival != "" && g.rand.Float64() < .7 {
		g.invoke(skill{name: s.rival, confidence: .66}, id, prompt, at, true)
	}
	calls, turns, errors := int64(1+g.rand.IntN(20)), int64(1+g.rand.IntN(8)), int64(g.rand.IntN(3))
	g.Facts = append(g.Facts, models.FactRecord{FactID: id + "-fact", SessionID: id, OccurredAt: &end, TotalToolCalls: &calls, AssistantTurns: &turns, ErrorsEncountered: &errors})
	if fires && g.rand.Float64() < .6 {
		g.grade(s, id, end, broken)
	}
}

func (g *generator) invoke(s skill, session, prompt string, at time.Time, fires bool) {
	mode := "implicit"
	r := models.InvocationRecord{
		InvocationID: session + "-" + s.name, SessionID: session, OccurredAt: &at, SkillName: s.name,
		Triggered: &fires, InvocationMode: &mode, MatchedPromptID: &prompt,
	}
	if hash, published := g.hashes[s.name]; published {
		r.VersionHash = &hash
	}
	if g.rand.Float64() < .85 {
		c := math.Round(min(1, max(0, s.confidence+g.rand.NormFloat64()*.06))*1000) / 1000
		r.Confidence = &c
	}
	g.Invocations = append(g.Invocations, r)
}

func (g *generator) grade(s skill, session string, at time.Time, broken bool) {
	share := s.passes
	if broken {
		share = s.brokenTo
	}
	total, passed := int64(5), int64(0)
	for range total {
		if g.rand.Float64() < share {
			passed++
		}
	}
	g.Gradings = append(g.Gradings, models.GradingRecord{GradingID: session + "-grading", SessionID: session, SkillName: s.name, GradedAt: &at, PassedCount: &passed, TotalCount: &total})
}

// alerts watch every skill. They tell an address that does not exist, so that a demo calls nobody.
func alerts(ctx context.Context, by actor) error {
	secret := models.NewSecret()
	for _, a := range []models.Alert{{Type: models.AlertTypePassRateBelow, Threshold: .6}, {Type: models.AlertTypeNoData, Threshold: 7}} {
		a.Channel, a.Secret, a.State = models.AlertChannelWebhook, &secret, models.AlertStateOk
		a.Destination = models.JSON(`{"webhook_url": "https://alerts.example.invalid/skills"}`)
		if _, err := by.CreateAlert(ctx, &a); err != nil {
			return err
		}
	}
	return nil
}
