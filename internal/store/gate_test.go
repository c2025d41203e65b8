package store_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/models"
)

// Only the ingest and the view name the tables that signals are kept in: what else wants a figure must ask the view.
func TestOnlyTheGateReadsSignals(t *testing.T) {
	t.Parallel()
	const raw = "raw_signal"
	ingest := []string{"insertSignals", "joinCohorts", "addCells", "pruneSignals"}
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "bin", "node_modules"}, d.Name()) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				if s, ok := n.(*ast.BasicLit); ok && strings.Contains(strings.ToLower(s.Value), raw) {
					require.Equal(t, "signal.go", filepath.Base(path), "%s names %s", path, s.Value)
					name := declared(decl)
					require.Contains(t, ingest, name)
					found[name] = true
				}
				return true
			})
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, found, len(ingest), "the test looks in the right place")

	// Neither do other views and functions of the database.
	w := newWorld(t)
	require.Equal(t, "signal_figures", text(t, w.url, `SELECT string_agg(DISTINCT v.relname, ',') FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
		WHERE d.refobjid::regclass::text LIKE 'raw_signal%' AND v.relname NOT LIKE 'raw_signal%'`))
	require.Zero(t, w.count(t, "SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%raw_signal%'"))
	require.Zero(t, w.count(t, "SELECT count(*) FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid WHERE d.refobjid = 'signal_figures'::regclass AND r.ev_class <> d.refobjid"))
}

// declared is what a declaration declares.
func declared(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
			return v.Names[0].Name
		}
	}
	return ""
}

// signalSet is a set of signals that a figure stands for.
type signalSet []*models.Signal

func (s signalSet) past() bool {
	cohorts := map[string]bool{}
	for _, x := range s {
		cohorts[*x.UserCohort] = true
	}
	return len(s) >= 10 && len(cohorts) >= 3
}

func (s signalSet) where(keep func(*models.Signal) bool) (out signalSet) {
	for _, x := range s {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// by parts a set.
func (s signalSet) by(label func(*models.Signal) string) map[string]signalSet {
	out := map[string]signalSet{}
	for _, x := range s {
		out[label(x)] = append(out[label(x)], x)
	}
	return out
}

func (s signalSet) missed() int { return len(s.where(func(x *models.Signal) bool { return x.Missed })) }
func (s signalSet) triggered() int {
	return len(s.where(func(x *models.Signal) bool { return x.Triggered != nil && *x.Triggered && !x.Missed }))
}

// lines are the groups that the figures of a skill stand for: its types that pass, or everything.
func (s signalSet) lines() (out []signalSet) {
	for _, of := range s.by(signalType) {
		if of.past() {
			out = append(out, of)
		}
	}
	if out == nil && s.past() {
		out = []signalSet{s}
	}
	return out
}

func signalType(s *models.Signal) string { return s.SignalType }

func week(s *models.Signal) string {
	day := s.Hour.Truncate(24 * time.Hour)
	for day.Weekday() != time.Monday {
		day = day.AddDate(0, 0, -1)
	}
	return day.Format(time.DateOnly)
}

func bucket(s *models.Signal) string {
	if s.QueryBucket == nil {
		return ""
	}
	return *s.QueryBucket
}

// randomSignals are signals about one skill. Some worlds have few cohorts, some many; some have long tails of rare weeks and buckets.
func randomSignals(rnd *rand.Rand, skill string) (out signalSet) {
	cohorts, types, weeks, buckets := 1+rnd.IntN(6), 1+rnd.IntN(3), 1+rnd.IntN(4), 1+rnd.IntN(4)
	tail := func(n int) int { return min(rnd.IntN(n), rnd.IntN(n), rnd.IntN(n)) }
	kind, size := tail, 90
	if rnd.IntN(3) == 0 { // a few of each of several types
		kind, size = rnd.IntN, 30
	}
	for i := range rnd.IntN(size) {
		s := &models.Signal{
			SourceKey: fmt.Sprint(skill, "/", i), SkillName: &skill, SignalType: fmt.Sprint("type ", kind(types)), UserCohort: new(fmt.Sprint(tail(cohorts))),
			Hour: new(noon.AddDate(0, 0, -7*tail(weeks)).Truncate(time.Hour)),
		}
		switch rnd.IntN(4) {
		case 0:
			s.Missed = true
		case 1, 2:
			s.Triggered = new(rnd.IntN(2) == 0)
		}
		if b := tail(buckets + 1); b > 0 || rnd.IntN(2) == 0 {
			s.QueryBucket = new(fmt.Sprint("bucket ", b))
		}
		if rnd.IntN(3) > 0 {
			s.Confidence = new(float64(rnd.IntN(11)) / 10)
		}
		out = append(out, s)
	}
	return out
}

// In random worlds every figure is of a group that passes the gate, and so is every group whose size follows by subtraction.
func TestGateOnRandomSignals(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(randomSeed(t), 0))
	w := newWorldAt(t, func() time.Time { return noon })
	worlds := map[string]signalSet{}
	for i := range 250 {
		name := fmt.Sprint("skill ", i)
		if s := randomSignals(rnd, name); len(s) > 0 {
			worlds[name] = s
			rnd.Shuffle(len(s), func(a, b int) { s[a], s[b] = s[b], s[a] })
			for part := range slices.Chunk(s, 1+rnd.IntN(40)) {
				addSignals(t, w.acme, part)
			}
		}
	}
	overview, err := w.acme.SignalOverview(t.Context())
	require.NoError(t, err)
	total, cohorts, seen := 0, 0, map[string]int{}
	for _, row := range overview.Skills {
		d := signalSkill(t, w.acme, row.SkillName)
		require.Equal(t, *row, d.SignalSkill)
		world := worlds[row.SkillName]
		lines := world.lines()
		checkTypes(t, d, world)
		if lines == nil {
			requireHidden(t, d)
			seen["hidden"]++
			continue
		}
		all := slices.Concat(lines...)
		require.Equal(t, []int{len(all), all.triggered(), all.missed()}, []int{*d.TotalSignals, *d.TriggeredCount, *d.MissedCount}, row.SkillName)
		total, cohorts = total+len(all), max(cohorts, *row.Cohorts)
		if len(lines) == 1 && len(lines[0]) == len(world) && len(world.by(signalType)) > 1 {
			seen["all types as one"]++
		}
		weeks := map[string]*models.SignalFigure{}
		for _, x := range d.ByWeek {
			weeks[x.Label] = &x.SignalFigure
		}
		checkParts(t, lines, week, weeks, seen)
		buckets := map[string]*models.SignalFigure{}
		for _, x := range d.QueryBuckets {
			require.NotNil(t, x.TotalSignals, "a hidden bucket is not named")
			buckets[x.Label] = &x.SignalFigure
		}
		checkParts(t, lines, bucket, buckets, seen)
	}
	require.Equal(t, []int{total, cohorts}, []int{*overview.TotalSignals, *overview.TotalCohorts}, "what is hidden counts nowhere")
	t.Log(seen)
	for _, what := range []string{"hidden", "all types as one", "shown", "hidden because of others", "hidden together"} {
		require.Positive(t, seen[what], "%s: the worlds are varied", what)
	}
}

func checkTypes(t *testing.T, d *models.SignalDetail, world signalSet) {
	t.Helper()
	types := world.by(signalType)
	require.Len(t, d.ByType, len(types))
	for _, a := range d.ByType {
		of := types[a.Label]
		if !of.past() {
			require.Equal(t, models.SignalFigure{Level: "TYPE", SkillName: a.SkillName, Label: a.Label}, a.SignalFigure)
			continue
		}
		require.Equal(t, len(of), *a.TotalSignals)
		scored := of.where(func(x *models.Signal) bool { return x.Confidence != nil })
		if !scored.past() {
			require.Nil(t, a.AvgConfidence)
			continue
		}
		sum := 0.0
		for _, x := range scored {
			sum += *x.Confidence
		}
		require.InDelta(t, sum/float64(len(scored)), *a.AvgConfidence, 1e-9)
	}
}

func requireHidden(t *testing.T, d *models.SignalDetail) {
	t.Helper()
	require.Equal(t, models.SignalFigure{Level: "SKILL", SkillName: d.SkillName}, d.SignalFigure)
	require.Empty(t, d.ByWeek)
	require.Empty(t, d.QueryBuckets)
}

// checkParts holds the shown parts of a skill's lines against the rule: a part that passes is shown, unless what is hidden of its line does not
// surely pass by itself; then the smallest is hidden, too. And whatever the rule is: what is hidden of a line passes, or there is nothing hidden.
func checkParts(t *testing.T, lines []signalSet, label func(*models.Signal) string, got map[string]*models.SignalFigure, seen map[string]int) {
	t.Helper()
	want := map[string]signalSet{}
	for _, line := range lines {
		parts := line.by(label)
		var hidden signalSet
		sure := false
		var shown []string
		for _, l := range slices.Sorted(maps.Keys(parts)) {
			if l != "" && parts[l].past() {
				shown = append(shown, l)
				continue
			}
			hidden = append(hidden, parts[l]...)
			cohorts := parts[l].by(func(x *models.Signal) string { return *x.UserCohort })
			sure = sure || len(cohorts) >= 3
		}
		slices.SortStableFunc(shown, func(a, b string) int { return len(parts[a]) - len(parts[b]) })
		switch {
		case len(hidden) == 0:
		case len(hidden) >= 10 && sure:
			seen["hidden together"]++
		case len(shown) > 0:
			hidden, shown = append(hidden, parts[shown[0]]...), shown[1:]
			seen["hidden because of others"]++
		}
		if len(hidden) > 0 && len(hidden) < len(line) {
			require.True(t, hidden.past(), "the line less what is shown of it is a group that passes")
		}
		for _, l := range shown {
			require.True(t, parts[l].past())
			want[l] = append(want[l], parts[l]...)
			seen["shown"]++
		}
	}
	for l, figure := range got {
		if figure.TotalSignals == nil {
			require.NotContains(t, want, l)
			require.Equal(t, models.SignalFigure{Level: figure.Level, SkillName: figure.SkillName, Label: l}, *figure)
			continue
		}
		require.Equal(t, []int{len(want[l]), want[l].triggered(), want[l].missed()}, []int{*figure.TotalSignals, *figure.TriggeredCount, *figure.MissedCount})
	}
	for l := range want {
		require.Contains(t, got, l)
		require.NotNil(t, got[l].TotalSignals)
	}
}
