package store_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *time.Time { return new(noon.Add(-d)) }

// telemetry is a store at noon with an organization, and a way to look below it.
type telemetry struct {
	store.Org
	db   *store.Store
	conn *pgx.Conn
}

func newTelemetry(t testing.TB, o store.Options) *telemetry {
	t.Helper()
	url := dbtest.Database(t)
	o.MaxConns, o.Clock = 10, func() time.Time { return noon }
	s := &telemetry{db: dbtest.Open(t, url, o)}
	s.Org = s.org(t, "acme")
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	s.conn = conn
	return s
}

func (s *telemetry) org(t testing.TB, name string) store.Org {
	t.Helper()
	_, v := dbtest.Key(t, s.db, name, name+"@example.com", models.PlanTeam, models.RoleOwner)
	return s.db.Org(v.OrgID, v.UserID)
}

// in is the same store seen from another organization.
func (s *telemetry) in(o store.Org) *telemetry { return &telemetry{o, s.db, s.conn} }

// push delivers records under an id of their own.
func (s *telemetry) push(t testing.TB, c models.Canonical) *models.PushTelemetryPayload {
	t.Helper()
	got, err := s.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, noon), Canonical: c})
	require.NoError(t, err)
	require.True(t, got.IsNew)
	return got
}

// skill finds a skill by name.
func (s *telemetry) skill(t testing.TB, name string) *models.Skill {
	t.Helper()
	got, err := s.Skill(t.Context(), models.SkillKey{Name: name})
	require.NoError(t, err)
	return got
}

// read reads all rows of a statement whose first argument is the organization.
func read[T any](t testing.TB, s *telemetry, sql string) []T {
	t.Helper()
	rows, err := s.conn.Query(t.Context(), sql, s.ID())
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	require.NoError(t, err)
	return out
}

func (s *telemetry) count(t testing.TB, table string) (n int) {
	t.Helper()
	require.NoError(t, s.conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table+" WHERE org_id = $1", s.ID()).Scan(&n))
	return n
}

func (s *telemetry) breakdown(t testing.TB, by models.Dimension) map[string]int {
	t.Helper()
	id := s.skill(t, "pdf").ID
	rows, err := s.BreakdownsOf(t.Context(), []ids.ID{id}, by)
	require.NoError(t, err)
	out := map[string]int{}
	for _, b := range rows[id] {
		out[b.Label] = b.Sessions
	}
	return out
}

// The figures of an organization, with skills by name, so that they can be compared across organizations.
type (
	figures struct {
		Rows       map[[2]string]unit
		Days       map[[2]string]sums
		Breakdowns map[[3]string]sums
		Confusions map[[2]string]int
		Skills     map[string]totals
	}
	unit struct {
		Session, Skill, Day      string
		Seen                     bool
		First, Last              int64
		Triggers, Scored         int
		Confidence               int
		Rate                     float64
		Graded                   int64
		Grading                  string
		Version, Platform, Agent string
	}
	sums   struct{ Sessions, Fired, Triggers, Scored, Confidence, Graded, Passed, Rate int }
	totals struct {
		Sessions, Graded, Recent int
		First, Last, Unseen      int64
		PassRate                 float64
		Status                   string
	}
)

// stored reads the figures as they are kept. What is zero counts as absent, and nothing may be below.
func (s *telemetry) stored(t testing.TB) figures {
	t.Helper()
	f := figures{map[[2]string]unit{}, map[[2]string]sums{}, map[[3]string]sums{}, map[[2]string]int{}, map[string]totals{}}
	for _, u := range read[unit](t, s, `SELECT r.session_id, k.name, r.day::text, r.seen, (extract(epoch FROM r.first_at) * 1000000)::bigint, (extract(epoch FROM r.last_at) * 1000000)::bigint,
			r.triggers, r.scored, r.confidence, coalesce(r.rate, -1), coalesce((extract(epoch FROM r.graded_at) * 1000000)::bigint, 0), coalesce(r.grading_id, ''), r.version_hash, r.platform, r.model
			FROM session_skills r JOIN skills k ON k.org_id = r.org_id AND k.id = r.skill_id WHERE r.org_id = $1`) {
		f.Rows[[2]string{u.Session, u.Skill}] = u
	}
	const columns = "r.sessions, r.triggered_sessions, r.triggers, r.scored, r.confidence, r.graded, r.passed, r.rate"
	type dayRow struct {
		Skill, Day string
		sums
	}
	for _, r := range read[dayRow](t, s, "SELECT k.name, r.day::text, "+columns+" FROM skill_days r JOIN skills k ON k.org_id = r.org_id AND k.id = r.skill_id WHERE r.org_id = $1") {
		if r.sums != (sums{}) {
			f.Days[[2]string{r.Skill, r.Day}] = r.sums
		}
		require.GreaterOrEqual(t, r.smallest(), 0, "%+v", r)
	}
	type partRow struct {
		Skill, Dimension, Value string
		sums
	}
	for _, r := range read[partRow](t, s, "SELECT k.name, r.dimension, r.value, "+columns+" FROM skill_breakdowns r JOIN skills k ON k.org_id = r.org_id AND k.id = r.skill_id WHERE r.org_id = $1") {
		if r.sums != (sums{}) {
			f.Breakdowns[[3]string{r.Skill, r.Dimension, r.Value}] = r.sums
		}
		require.GreaterOrEqual(t, r.smallest(), 0, "%+v", r)
	}
	type pairRow struct {
		Skill, Other string
		N            int
	}
	for _, r := range read[pairRow](t, s, `SELECT k.name, o.name, r.sessions FROM skill_confusions r JOIN skills k ON k.org_id = r.org_id AND k.id = r.skill_id
			JOIN skills o ON o.org_id = r.org_id AND o.id = r.other_id WHERE r.org_id = $1`) {
		if r.N != 0 {
			f.Confusions[[2]string{r.Skill, r.Other}] = r.N
		}
		require.GreaterOrEqual(t, r.N, 0, "%+v", r)
	}
	type skillRow struct {
		Name string
		totals
	}
	for _, r := range read[skillRow](t, s, `SELECT r.name, r.unique_sessions, r.graded_sessions, r.recent_graded, coalesce((extract(epoch FROM r.first_seen_at) * 1000000)::bigint, 0),
			coalesce((extract(epoch FROM r.last_seen_at) * 1000000)::bigint, 0), r.unseen, coalesce(r.pass_rate, -1), r.status FROM skills r WHERE r.org_id = $1`) {
		r.PassRate = billionth(r.PassRate)
		f.Skills[r.Name] = r.totals
	}
	return f
}

func (s sums) smallest() int {
	return min(s.Sessions, s.Fired, s.Triggers, s.Scored, s.Confidence, s.Graded, s.Passed, s.Rate)
}

func billionth(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// recount counts everything from raw rows, one by one, from the definitions and not from the code that keeps the rollups.
func (s *telemetry) recount(t testing.TB) figures {
	t.Helper()
	f := figures{map[[2]string]unit{}, map[[2]string]sums{}, map[[3]string]sums{}, map[[2]string]int{}, map[string]totals{}}
	type session struct{ Platform, Model string }
	sessions := map[string]session{}
	type sessionRow struct {
		ID string
		session
	}
	for _, r := range read[sessionRow](t, s, "SELECT session_id, coalesce(platform, ''), coalesce(model, '') FROM sessions WHERE org_id = $1") {
		sessions[r.ID] = r.session
	}
	dayOf := func(at time.Time) string { return at.UTC().Format(time.DateOnly) }
	type invocation struct {
		ID, Session, Skill string
		At                 time.Time
		Triggered          bool
		Confidence         *float64
		Version            *string
	}
	list := read[invocation](t, s, `SELECT r.invocation_id, r.session_id, k.name, r.occurred_at, r.triggered, r.confidence, r.version_hash
		FROM invocations r JOIN skills k ON k.org_id = r.org_id AND k.id = r.skill_id WHERE r.org_id = $1`)
	slices.SortFunc(list, func(a, b invocation) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	for _, i := range list {
		parent, arrived := sessions[i.Session]
		if !arrived {
			continue
		}
		key := [2]string{i.Session, i.Skill}
		u, known := f.Rows[key]
		if !known {
			u = unit{Session: i.Session, Skill: i.Skill, Day: dayOf(i.At), Seen: true, First: i.At.UnixMicro(), Rate: -1, Platform: parent.Platform, Agent: parent.Model}
		}
		u.Last = i.At.UnixMicro()
		if i.Triggered {
			u.Triggers++
			if i.Confidence != nil {
				u.Scored++
				u.Confidence += int(math.RoundToEven(*i.Confidence * 1e9))
			}
		}
		if i.Version != nil {
			u.Version = *i.Version
		}
		f.Rows[key] = u
	}
	type grading struct {
		ID, Session, Skill string
		At                 time.Time
		Rate               *float64
	}
	grades := read[grading](t, s, `SELECT r.grading_id, r.session_id, k.name, r.graded_at, r.rate FROM gradings r JOIN skills k ON k.org_id = r.org_id AND k.id = r.skill_id WHERE r.org_id = $1`)
	slices.SortFunc(grades, func(a, b grading) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	for _, g := range grades {
		parent, arrived := sessions[g.Session]
		if !arrived || g.Rate == nil {
			continue
		}
		key := [2]string{g.Session, g.Skill}
		u, known := f.Rows[key]
		if !known || !u.Seen {
			at := g.At.UnixMicro()
			u = unit{Session: g.Session, Skill: g.Skill, Day: dayOf(g.At), First: at, Last: at, Platform: parent.Platform, Agent: parent.Model}
		}
		u.Rate, u.Graded, u.Grading = *g.Rate, g.At.UnixMicro(), g.ID
		f.Rows[key] = u
	}
	type name struct{ Name string }
	for _, k := range read[name](t, s, "SELECT name FROM skills WHERE org_id = $1") {
		f.Skills[k.Name] = totals{PassRate: -1, Status: "UNKNOWN"}
	}
	f.add()
	return f
}

// add adds the rows up.
func (f *figures) add() {
	graded := map[string][]unit{}
	for _, u := range f.Rows {
		one := sums{Triggers: u.Triggers, Scored: u.Scored, Confidence: u.Confidence}
		k := f.Skills[u.Skill]
		if u.Seen {
			one.Sessions = 1
			k.Sessions++
			if k.First == 0 || u.First < k.First {
				k.First = u.First
			}
			k.Last = max(k.Last, u.Last)
		}
		if u.Triggers > 0 {
			one.Fired = 1
		}
		if u.Rate >= 0 {
			one.Graded, one.Rate = 1, int(math.Round(u.Rate*1e9))
			if u.Rate >= 0.5 {
				one.Passed = 1
			}
			k.Graded++
			graded[u.Skill] = append(graded[u.Skill], u)
		}
		f.Skills[u.Skill] = k
		plus(f.Days, [2]string{u.Skill, u.Day}, one)
		plus(f.Breakdowns, [3]string{u.Skill, "VERSION", u.Version}, one)
		plus(f.Breakdowns, [3]string{u.Skill, "PLATFORM", u.Platform}, one)
		plus(f.Breakdowns, [3]string{u.Skill, "MODEL", u.Agent}, one)
		for _, other := range f.Rows {
			if other.Session == u.Session && u.Seen && u.Triggers == 0 && other.Triggers > 0 {
				f.Confusions[[2]string{u.Skill, other.Skill}]++
			}
		}
	}
	for skill, rows := range graded {
		slices.SortFunc(rows, func(a, b unit) int { return cmp.Or(cmp.Compare(b.Graded, a.Graded), cmp.Compare(b.Grading, a.Grading)) })
		rows = rows[:min(20, len(rows))]
		mean := 0.0
		for _, u := range rows {
			mean += u.Rate / float64(len(rows))
		}
		k := f.Skills[skill]
		k.Recent, k.PassRate = len(rows), billionth(mean)
		switch {
		case len(rows) < 3:
		case k.PassRate < 0.4:
			k.Status = "CRITICAL"
		case k.PassRate < 0.7:
			k.Status = "WARNING"
		default:
			k.Status = "HEALTHY"
		}
		f.Skills[skill] = k
	}
	for skill, k := range f.Skills {
		k.Unseen = -(k.Last / 1000)
		f.Skills[skill] = k
	}
}

func plus[K comparable](m map[K]sums, k K, s sums) {
	v := m[k]
	m[k] = sums{v.Sessions + s.Sessions, v.Fired + s.Fired, v.Triggers + s.Triggers, v.Scored + s.Scored, v.Confidence + s.Confidence, v.Graded + s.Graded, v.Passed + s.Passed, v.Rate + s.Rate}
}

// requireCounted finds every rollup equal to what raw rows say.
func (s *telemetry) requireCounted(t testing.TB) figures {
	t.Helper()
	want, got := s.recount(t), s.stored(t)
	require.Equal(t, want.Rows, got.Rows)
	require.Equal(t, want.Days, got.Days)
	require.Equal(t, want.Breakdowns, got.Breakdowns)
	require.Equal(t, want.Confusions, got.Confusions)
	require.Equal(t, want.Skills, got.Skills)
	return got
}
