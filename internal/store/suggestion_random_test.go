package store_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// counted is a suggestion, by source and folded query.
type counted struct {
	Missed, Failed, Failures, Regressions, Good int
	Query                                       string // of the newest evidence
	At                                          int64
}

// requireSuggestions finds every count, text and time equal to what raw rows say, from the definitions and not from the code that keeps them. Runs are
// left as they are counted.
func (s *telemetry) requireSuggestions(t testing.TB) map[[2]string]counted {
	t.Helper()
	type row struct {
		Source, Query string
		counted
		Reviewed bool
		ID       string
	}
	got := map[[2]string]counted{}
	for _, r := range read[row](t, s, `SELECT t.source_id::text, coalesce(nullif(t.query, ''), (SELECT coalesce(p.prompt_text, e.query) FROM suggestion_evidence e
				LEFT JOIN prompts p ON p.org_id = e.org_id AND p.prompt_id = e.ref WHERE e.org_id = t.org_id AND e.suggestion_id = t.id LIMIT 1)),
			t.missed, t.failed, t.run_failures, t.run_regressions, t.good, t.query, coalesce((extract(epoch FROM t.last_observed_at) * 1000000)::bigint, 0),
			EXISTS (SELECT FROM suggestion_reviews r WHERE r.org_id = t.org_id AND r.suggestion_id = t.id), t.id::text
		FROM eval_suggestions t WHERE t.org_id = $1`) {
		if r.Reviewed && r.Missed+r.Failed+r.Failures+r.Regressions == 0 {
			continue // kept for its review alone
		}
		got[[2]string{r.Source, plainFold(r.Query)}] = r.counted
	}
	require.Equal(t, s.recountSuggestions(t), got)
	return got
}

func plainFold(q string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(q), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// What raw rows say.
type (
	saidPrompt struct {
		ID, Session, Text string
		At                time.Time
		Actionable        bool
	}
	seenSkill struct {
		ID, Session, Skill, Prompt string
		At                         time.Time
		Fired                      bool
	}
)

func (s *telemetry) recountSuggestions(t testing.TB) map[[2]string]counted {
	t.Helper()
	type link struct{ Source, Skill string }
	type graded struct {
		Session, Skill string
		Rate           float64
	}
	type signal struct {
		ID, Session, Skill, Query string
		At                        time.Time
	}
	links := read[link](t, s, "SELECT id::text, skill_id::text FROM cloud_sources WHERE org_id = $1 AND skill_id IS NOT NULL")
	prompts := map[string]saidPrompt{}
	for _, p := range read[saidPrompt](t, s, `SELECT p.prompt_id, p.session_id, p.prompt_text, p.occurred_at, coalesce(p.is_actionable, false) FROM prompts p
			JOIN sessions USING (org_id, session_id) WHERE p.org_id = $1 AND p.prompt_text <> ''`) {
		prompts[p.ID] = p
	}
	invocations := read[seenSkill](t, s, "SELECT invocation_id, session_id, skill_id::text, coalesce(matched_prompt_id, ''), occurred_at, triggered FROM invocations WHERE org_id = $1")
	out := map[[2]string]counted{}
	newest := map[[2]string]string{}
	add := func(source, query, ref string, at time.Time, kind func(*counted) *int) {
		key := [2]string{source, plainFold(query)}
		if key[1] == "" {
			return
		}
		c := out[key]
		*kind(&c)++
		if n := kind(&c); n != &c.Good && (at.UnixMicro() > c.At || at.UnixMicro() == c.At && ref > newest[key]) {
			c.At, c.Query, newest[key] = at.UnixMicro(), query, ref
		}
		out[key] = c
	}
	for _, l := range links {
		kinds := map[string]func(*counted) *int{} // by prompt
		candidates := map[string][]seenSkill{}    // by session
		for _, i := range invocations {
			if p, ok := prompts[i.Prompt]; !ok || i.Skill != l.Skill || p.Session != i.Session {
				continue
			}
			candidates[i.Session] = append(candidates[i.Session], i)
			if kinds[i.Prompt] == nil {
				kinds[i.Prompt] = func(c *counted) *int { return &c.Good }
			}
		}
		for _, g := range read[graded](t, s, "SELECT session_id, skill_id::text, rate FROM session_skills WHERE org_id = $1 AND rate < 0.5") {
			if g.Skill != l.Skill {
				continue
			}
			if p := aboutPrompt(candidates[g.Session], prompts, g.Session); p != "" {
				kinds[p] = func(c *counted) *int { return &c.Failed }
			}
		}
		for _, list := range candidates {
			for _, i := range list {
				if !i.Fired {
					kinds[i.Prompt] = func(c *counted) *int { return &c.Missed }
				}
			}
		}
		for id, kind := range kinds {
			add(l.Source, prompts[id].Text, id, prompts[id].At, kind)
		}
		for _, n := range read[signal](t, s, `SELECT n.signal_id, n.session_id, n.skill_id::text, n.query, n.occurred_at FROM improvement_signals n
				JOIN sessions USING (org_id, session_id) WHERE n.org_id = $1 AND n.skill_id IS NOT NULL AND n.query IS NOT NULL`) {
			if n.Skill == l.Skill {
				add(l.Source, n.Query, n.ID, n.At, func(c *counted) *int { return &c.Missed })
			}
		}
	}
	return out
}

// aboutPrompt is the prompt that a failed session is about: the first that the skill fired on, else the first that it was seen with, else the first
// that asks for something.
func aboutPrompt(seen []seenSkill, prompts map[string]saidPrompt, session string) string {
	first := map[string]seenSkill{} // of each prompt: when it was first seen, and whether it ever fired
	for _, i := range seen {
		f, ok := first[i.Prompt]
		if !ok {
			f = i
		}
		if i.At.Before(f.At) {
			f.At = i.At
		}
		f.Fired = f.Fired || i.Fired
		first[i.Prompt] = f
	}
	list := slices.Collect(maps.Values(first))
	slices.SortFunc(list, func(a, b seenSkill) int {
		if a.Fired != b.Fired {
			if a.Fired {
				return -1
			}
			return 1
		}
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Prompt, b.Prompt))
	})
	if len(list) > 0 {
		return list[0].Prompt
	}
	var asked []saidPrompt
	for _, p := range prompts {
		if p.Session == session && p.Actionable {
			asked = append(asked, p)
		}
	}
	slices.SortFunc(asked, func(a, b saidPrompt) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	if len(asked) > 0 {
		return asked[0].ID
	}
	return ""
}

// gossip is telemetry with prompts, as random as it gets: every push says something new, or something else, about a few sessions.
func gossip(rnd *rand.Rand) (c models.Canonical) {
	at := func() *time.Time {
		return new(noon.Add(-time.Duration(rnd.Int64N(int64(30 * time.Hour)))).Truncate(time.Microsecond))
	}
	session := func() string { return fmt.Sprintf("s%02d", rnd.IntN(30)) }
	text := func() *string { // few queries, in many spellings
		q := fmt.Sprintf("question %d", rnd.IntN(12))
		for rnd.IntN(2) == 0 {
			q = []string{strings.ToUpper(q), q + "!", " " + q, strings.ReplaceAll(q, " ", ", ")}[rnd.IntN(4)]
		}
		if rnd.IntN(20) == 0 {
			q = "?!"
		}
		return &q
	}
	skill := func() string { return fmt.Sprintf("skill %d", rnd.IntN(3)) }
	for range 1 + rnd.IntN(8) {
		s := session()
		switch rnd.IntN(6) {
		case 0:
			c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: s})
		case 1, 2:
			c.Prompts = append(c.Prompts, models.PromptRecord{PromptID: s + fmt.Sprint("-", rnd.IntN(4)), SessionID: s, OccurredAt: at(), PromptText: text(), IsActionable: new(rnd.IntN(2) == 0)})
		case 3, 4:
			r := models.InvocationRecord{InvocationID: s + fmt.Sprint("/", rnd.IntN(6)), SessionID: s, OccurredAt: at(), SkillName: skill(), Triggered: new(rnd.IntN(2) == 0)}
			if rnd.IntN(4) > 0 {
				r.MatchedPromptID = new(s + fmt.Sprint("-", rnd.IntN(4)))
			}
			c.Invocations = append(c.Invocations, r)
		case 5:
			if rnd.IntN(3) == 0 {
				c.Signals = append(c.Signals, models.SignalRecord{SignalID: s + fmt.Sprint("*", rnd.IntN(2)), SessionID: s, OccurredAt: at(), Query: text(), MentionedSkill: new(skill())})
			}
			c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: s + fmt.Sprint("+", rnd.IntN(4)), SessionID: s, SkillName: skill(), GradedAt: at(), PassRate: new(rnd.Float64())})
		}
	}
	return c
}

// Whatever is told, taken back, erased and linked, in whatever order, the suggestions are what raw rows add up to.
func TestSuggestionsRandom(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(randomSeed(t), 3))
	s := newTelemetry(t, store.Options{})
	for n := range 3 {
		s.source(t, fmt.Sprint("skill ", n))
	}
	s.source(t, "skill 0")
	for n := range 400 {
		switch rnd.IntN(12) {
		case 0:
			_, err := s.EraseSession(t.Context(), fmt.Sprintf("s%02d", rnd.IntN(30)))
			require.NoError(t, err)
		case 1:
			s.exec(t, `UPDATE cloud_sources SET skill_id = (SELECT id FROM skills WHERE org_id = $1 AND name = $2)
				WHERE id = (SELECT id FROM cloud_sources WHERE org_id = $1 ORDER BY id LIMIT 1 OFFSET $3)`, s.ID(), fmt.Sprint("skill ", rnd.IntN(4)), rnd.IntN(4))
		default:
			s.push(t, gossip(rnd))
		}
		if n%10 == 9 {
			s.suggest(t)
			s.requireSuggestions(t)
		}
	}
	s.suggest(t)
	require.NotEmpty(t, s.requireSuggestions(t))
	require.Zero(t, s.count(t, "(SELECT * FROM eval_suggestions WHERE (observed_count > 0) <> (query <> '')) s"))
}

// Deliveries, jobs and erasures at the same time: nothing is lost, and nothing is counted twice.
func TestSuggestionsAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	s := &telemetry{db: dbtest.Open(t, url, store.Options{MaxConns: 20, Clock: func() time.Time { return noon }}), conn: connect(t, url)}
	s.Org = s.org(t, "acme")
	for n := range 3 {
		s.source(t, fmt.Sprint("skill ", n))
	}
	seed := randomSeed(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var jobs, clients sync.WaitGroup
	for range 2 {
		jobs.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Suggest(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 4 {
		clients.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(n)))
			for range 25 {
				if rnd.IntN(6) == 0 {
					if _, err := s.EraseSession(ctx, fmt.Sprintf("s%02d", rnd.IntN(30))); err != nil {
						t.Error(err)
					}
					continue
				}
				if _, err := s.Push(ctx, &models.Push{ID: ids.New(ids.Push, noon), Canonical: gossip(rnd)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	cancel()
	jobs.Wait()
	s.suggest(t)
	require.NotEmpty(t, s.requireSuggestions(t))
}

// A session that somebody is still telling about is left in the queue; and who tells about one that is there already holds it.
func TestNotedSessions(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	s.source(t, "skill 0")
	c := models.Canonical{Sessions: []models.SessionRecord{{SessionID: "s"}}}
	s.push(t, c)
	tx, err := s.conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM suggestion_queue FOR UPDATE")
	require.NoError(t, err)
	n, err := s.Suggest(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	told := make(chan error, 1)
	go func() {
		_, err := s.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, noon), Canonical: c})
		told <- err
	}()
	requireWaiting(t, s.conn, 1)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-told)
	n, err = s.Suggest(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
