package rest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func signal(key string) string {
	return fmt.Sprintf(`{"signal_type": "skill_session", "source_key": %q, "skill_name": "pdf", "user_cohort": "c"}`, key)
}

// An organization's calls are counted together, whoever makes them and through whichever face.
func TestSignalLimit(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	var passed atomic.Int64 // since a minute before the hour
	clock := func() time.Time {
		return time.Date(2026, 11, 15, 12, 59, 0, 0, time.UTC).Add(time.Duration(passed.Load()))
	}
	s := apitest.Open(t, url, dbtest.Open(t, url, store.Options{MaxConns: 10, Clock: clock}))
	replica := apitest.Open(t, url, dbtest.Open(t, url, store.Options{MaxConns: 10, Clock: clock}))
	limits := func(r apitest.Response) [3]string {
		return [3]string{r.Header.Get("RateLimit-Limit"), r.Header.Get("RateLimit-Remaining"), r.Header.Get("RateLimit-Reset")}
	}
	send := func(to *apitest.Server, who string) apitest.Response {
		return to.REST(t, who, http.MethodPost, "/api/v1/signals", signal("the same"))
	}
	require.Equal(t, [3]string{"300", "299", "60"}, limits(send(s, "member")))
	require.Equal(t, [3]string{"300", "298", "60"}, limits(send(replica, "owner")), "a duplicate counts, too, on another server")
	for _, bad := range []string{``, `{}`, `[`, `{"signals": []}`, `{"signals": [{"source_key": "k"}]}`} {
		res := s.REST(t, "owner", http.MethodPost, "/api/v1/signals", bad)
		require.Equal(t, http.StatusBadRequest, res.Status)
		require.Equal(t, [3]string{}, limits(res), "what is malformed does not count")
	}
	require.Equal(t, http.StatusForbidden, send(s, "viewer").Status)

	// In the graph every alias is a call.
	const submit = `submitSignals(input: {signals: [{source_key: "g", signal_type: "x"}]}) { accepted duplicates }`
	res := s.GraphQL(t, "member", "mutation { a: "+submit+" b: "+submit+" c: "+submit+" }", nil)
	require.JSONEq(t, `{"data": {"a": {"accepted": 1, "duplicates": 0}, "b": {"accepted": 0, "duplicates": 1}, "c": {"accepted": 0, "duplicates": 1}}}`, string(res.Body))
	require.Equal(t, [3]string{"300", "295", "60"}, limits(res))
	require.Equal(t, [3]string{}, limits(s.GraphQL(t, "member", "{ viewer { plan } }", nil)), "nothing else is limited")

	for range 293 {
		_, err := s.Org().SpendCall(t.Context(), "submitSignals", 300)
		require.NoError(t, err)
	}
	res = s.GraphQL(t, "member", "mutation { a: "+submit+" b: "+submit+" c: "+submit+" }", nil)
	require.Equal(t, http.StatusOK, res.Status)
	require.Equal(t, [3]string{"300", "0", "60"}, limits(res))
	require.Equal(t, "60", res.Header.Get("Retry-After"))
	var body struct {
		Data   map[string]any
		Errors []struct {
			Path       []string
			Extensions map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(res.Body, &body))
	require.NotNil(t, body.Data["a"], "the first two were within the limit")
	require.NotNil(t, body.Data["b"])
	require.Nil(t, body.Data["c"])
	require.Len(t, body.Errors, 1)
	require.Equal(t, []string{"c"}, body.Errors[0].Path)
	require.Equal(t, map[string]any{"code": "RATE_LIMITED", "retryAfter": 60.0}, body.Errors[0].Extensions)

	for _, server := range []*apitest.Server{s, replica} {
		res = send(server, "admin")
		require.Equal(t, http.StatusTooManyRequests, res.Status)
		require.JSONEq(t, `{"error": {"message": "The organization has made as many calls as it may in an hour; try again in the next one", "status": 429, "code": "RATE_LIMITED"}}`, string(res.Body))
		require.Equal(t, [3]string{"300", "0", "60"}, limits(res))
		require.Equal(t, "60", res.Header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusBadRequest, s.REST(t, "owner", http.MethodPost, "/api/v1/signals", `{}`).Status, "what is malformed is told so even now")
	require.Equal(t, [3]string{"300", "299", "60"}, limits(send(s, "stranger")), "another organization has its own")
	passed.Add(int64(time.Minute))
	require.Equal(t, [3]string{"300", "299", "3600"}, limits(send(s, "member")))
}

// A thousand signals fit a call, by either face's limits.
func TestManySignals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	list := make([]string, 1000)
	for i := range list {
		list[i] = signal("key " + strconv.Itoa(i))
	}
	res := s.REST(t, "member", http.MethodPost, "/api/v1/signals", `{"signals": [`+strings.Join(list, ",")+`]}`)
	require.JSONEq(t, `{"status": "accepted", "accepted": 1000, "duplicates": 0}`, string(res.Body))
	res = s.REST(t, "member", http.MethodPost, "/api/v1/signals", `{"signals": [`+strings.Join(append(list, signal("one more")), ",")+`]}`)
	require.Equal(t, http.StatusBadRequest, res.Status)
}

const everyFigure = `query($name: String!) {
	signalOverview { totalSignals totalSkills totalCohorts actionableSkills skills { skillName totalSignals triggeredCount missedCount triggerRate missedShare { value count low high } lastSeenAt state } truncated }
	signalAggregates { aggregates { skillName signalType totalSignals avgConfidence cohorts firstSeenAt lastSeenAt state } }
	signalSkill(name: $name) {
		skillName totalSignals triggeredCount missedCount triggerRate missedShare { value count low high } lastSeenAt state
		byType { signalType totalSignals avgConfidence cohorts firstSeenAt lastSeenAt state }
		byWeek { week totalSignals triggeredCount missedCount triggerRate state }
		queryBuckets { queryBucket totalSignals triggeredCount missedCount triggerRate state }
	}
	skill(name: $name) { signals { totalSignals missedShare { value } byType { totalSignals } byWeek { totalSignals } queryBuckets { totalSignals } } proposals { nodes { confidence reason evidence { totalSignals } } } }
	proposals { nodes { confidence reason evidence { totalSignals triggeredCount missedCount rate { value } weeks { totalSignals } } } }
	events(filter: {kinds: ["proposal.created"]}) { nodes { kind data } }
}`

// With fewer than three cohorts, or fewer than ten signals, there is no figure anywhere, whatever the signals say.
func TestNoFigureBelowTheGate(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := apitest.New(t)
	for n := range 30 {
		name := fmt.Sprint("org-", n)
		var v *models.Viewer
		s.Keys[name], v = dbtest.Key(t, s.Store, name, name+"@example.com", models.PlanFree, models.RoleOwner)
		size, cohorts := 1+rnd.IntN(120), 1+rnd.IntN(2)
		if n%3 == 0 {
			size, cohorts = 1+rnd.IntN(9), 1+rnd.IntN(9)
		}
		org := s.Store.Org(v.OrgID, v.UserID)
		_, err := org.AddSignals(t.Context(), fewSignals(rnd, size, cohorts))
		require.NoError(t, err)
		require.NoError(t, org.Propose(t.Context()))
		at := apitest.Noon
		_, err = org.Push(t.Context(), &models.Push{ID: v.KeyID, Canonical: models.Canonical{
			Gradings: []models.GradingRecord{{GradingID: "g", SessionID: "s", SkillName: "pdf", GradedAt: &at}},
		}})
		require.NoError(t, err)
		for _, path := range []string{"/api/v1/signals/aggregates", "/api/v1/creator-signals/overview", "/api/v1/creator-signals/skills/pdf", "/api/v1/creator-signals/proposals"} {
			res := s.REST(t, name, http.MethodGet, path, "")
			require.Equal(t, http.StatusOK, res.Status)
			requireNoFigure(t, res.JSON(t), path)
		}
		requireNoFigure(t, s.Query(t, name, everyFigure, map[string]any{"name": "pdf"}), "graph")
	}

	// The same questions have figures in their answers when there is enough: the walk would find them.
	_, err := s.Org().AddSignals(t.Context(), fewSignals(rnd, 120, 3))
	require.NoError(t, err)
	require.NotNil(t, figureIn(s.REST(t, "owner", http.MethodGet, "/api/v1/creator-signals/overview", "").JSON(t)))
}

// fewSignals are signals about one skill, of one type, with everything else by chance.
func fewSignals(rnd *rand.Rand, n, cohorts int) (out []*models.Signal) {
	for i := range n {
		out = append(out, &models.Signal{
			SourceKey: strconv.Itoa(i), SkillName: new("pdf"), SignalType: fmt.Sprint("type-", rnd.IntN(2)), UserCohort: new(strconv.Itoa(i % cohorts)), Confidence: new(rnd.Float64()),
			Triggered: new(rnd.IntN(2) == 0), Missed: rnd.IntN(2) == 0, QueryBucket: new(fmt.Sprint("bucket-", rnd.IntN(2))), Hour: new(apitest.Noon.AddDate(0, 0, -7*rnd.IntN(2))),
		})
	}
	return out
}

func requireNoFigure(t *testing.T, v any, where string) {
	t.Helper()
	require.Nil(t, figureIn(v), "%s: %v", where, v)
}

var (
	wholeNumber = regexp.MustCompile(`\d`)
	labels      = regexp.MustCompile(`^(type-\d|pdf)$`)
)

// figureIn finds a number, a time, or a text with a digit in it, that is not the name of a type.
func figureIn(v any) any {
	switch v := v.(type) {
	case float64:
		return v
	case string:
		if wholeNumber.MatchString(v) && !labels.MatchString(v) {
			return v
		}
	case []any:
		for _, x := range v {
			if f := figureIn(x); f != nil {
				return f
			}
		}
	case map[string]any:
		for key, x := range v {
			if key == "generated_at" || key == "week" {
				continue
			}
			if f := figureIn(x); f != nil {
				return fmt.Sprint(key, ": ", f)
			}
		}
	}
	return nil
}
