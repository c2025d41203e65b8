package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/store"
	"skillgraph/models"
)

// history is what really happened, as records that say all there is to say.
type history struct {
	rnd *rand.Rand
	models.Canonical
}

const (
	randomSessions    = 40
	randomSkills      = 7
	randomInvocations = 2500
	randomGradings    = 600
)

func newHistory(rnd *rand.Rand) *history {
	h := &history{rnd: rnd}
	session := func() string { return fmt.Sprintf("s%02d", rnd.IntN(randomSessions)) }
	// Few skills a session, so that some stay quiet while others fire.
	skill := func(s string) string { return fmt.Sprintf("skill %d", (int(s[2])+rnd.IntN(3))%randomSkills) }
	at := func() *time.Time {
		return new(noon.Add(-time.Duration(rnd.Int64N(int64(96 * time.Hour)))).Truncate(time.Microsecond))
	}
	for n := range randomSessions - 3 { // three never arrive
		r := models.SessionRecord{SessionID: fmt.Sprintf("s%02d", n), Platform: some(rnd, "cli", "ide", "web"), Model: some(rnd, "m1", "m2"), EndedAt: at()}
		h.Sessions = append(h.Sessions, r)
	}
	for n := range randomInvocations {
		s := session()
		r := models.InvocationRecord{InvocationID: fmt.Sprintf("i%05d", n), SessionID: s, OccurredAt: at(), SkillName: skill(s), Triggered: new(rnd.IntN(30) == 0)}
		if rnd.IntN(2) == 0 {
			r.Confidence = new(rnd.Float64())
		}
		r.VersionHash = some(rnd, "v1", "v2", "v3")
		h.Invocations = append(h.Invocations, r)
	}
	for n := range randomGradings {
		s := session()
		r := models.GradingRecord{GradingID: fmt.Sprintf("g%05d", n), SessionID: s, SkillName: skill(s), GradedAt: at()}
		if rnd.IntN(10) == 0 { // graded for a skill that was never seen there
			r.SkillName = "graded only"
		}
		switch rnd.IntN(4) {
		case 0:
			r.PassedCount, r.TotalCount = new(int64(rnd.IntN(5))), new(int64(5))
		case 1, 2:
			r.PassRate = new(float64(rnd.IntN(101)) / 100)
		}
		h.Gradings = append(h.Gradings, r)
	}
	return h
}

// some is one of the words, or nothing.
func some(rnd *rand.Rand, words ...string) *string {
	if n := rnd.IntN(len(words) + 1); n < len(words) {
		return &words[n]
	}
	return nil
}

// pushes tells the history in pieces: every record at least once, often twice, the early copies saying less, in any
// order and cut anywhere.
func (h *history) pushes() []models.Canonical {
	rnd := rand.New(rand.NewPCG(h.rnd.Uint64(), 0))
	var all []func(*models.Canonical)
	tell := func(whole, less func(*models.Canonical)) {
		all = append(all, whole)
		for rnd.IntN(3) == 0 {
			all = append(all, less)
		}
		for rnd.IntN(4) == 0 {
			all = append(all, whole)
		}
	}
	for _, r := range h.Sessions {
		less := r
		less.Platform, less.Model, less.EndedAt = nil, nil, nil
		tell(func(c *models.Canonical) { c.Sessions = append(c.Sessions, r) }, func(c *models.Canonical) { c.Sessions = append(c.Sessions, less) })
	}
	for _, r := range h.Invocations {
		less := r
		less.Confidence, less.VersionHash = nil, nil
		tell(func(c *models.Canonical) { c.Invocations = append(c.Invocations, r) }, func(c *models.Canonical) { c.Invocations = append(c.Invocations, less) })
	}
	for _, r := range h.Gradings {
		less := r
		less.PassRate, less.PassedCount, less.TotalCount = nil, nil, nil
		tell(func(c *models.Canonical) { c.Gradings = append(c.Gradings, r) }, func(c *models.Canonical) { c.Gradings = append(c.Gradings, less) })
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var out []models.Canonical
	for len(all) > 0 {
		n := min(1+rnd.IntN(400), len(all))
		var c models.Canonical
		for _, add := range all[:n] {
			add(&c)
		}
		out, all = append(out, c), all[n:]
	}
	return out
}

// randomSeed is the one of this run; SEED repeats another one.
func randomSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", seed)
	return seed
}

// Whatever the order, the copies and the cuts, the rollups are what raw rows add up to, and the same in the end.
func TestPushRandom(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(randomSeed(t), 0))
	s := newTelemetry(t, store.Options{})
	h := newHistory(rnd)
	var first figures
	for n := range 3 {
		o := s.in(s.org(t, fmt.Sprintf("org-%d", n)))
		for _, c := range h.pushes() {
			o.push(t, c)
			if rnd.IntN(5) == 0 {
				o.requireCounted(t)
			}
		}
		got := o.requireCounted(t)
		if n == 0 {
			first = got
		}
		require.Equal(t, first, got, "another order, another result")
		require.NotEmpty(t, got.Confusions)
		require.Equal(t, len(h.Invocations), o.count(t, "invocations"))
	}
}
