package export_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/store"
)

// snake has REST's names for what the graph says.
func snake(t *testing.T, node any, names string) row {
	t.Helper()
	out := row{}
	for pair := range strings.FieldsSeq(names) {
		to, from, _ := strings.Cut(pair, "=")
		v, there := node.(row)[from]
		require.True(t, there, from)
		out[to] = v
	}
	return out
}

func nodes(v any) []any { return v.(row)["nodes"].([]any) }

// What the demo has in every dataset.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := demoServer(t)
	t.Run("figures", func(t *testing.T) { requireFigures(t, s) })
	t.Run("suggestions", func(t *testing.T) { requireSuggestions(t, s) })
	t.Run("formats", func(t *testing.T) { requireFormats(t, s, "demo") })
	t.Run("tenancy", func(t *testing.T) { requireTenancy(t, s) })
	t.Run("resumption", func(t *testing.T) {
		requireResumable(t, s, "demo", "skills", nil)
		requireResumable(t, s, "demo", "versions", nil)
		requireResumable(t, s, "demo", "suggestions", nil)
		requireResumable(t, s, "demo", "daily-stats", url.Values{"since": {"2026-11-10"}, "skill": {"pdf-forms"}})
	})
}

// requireFigures: every row says what the graph says.
func requireFigures(t *testing.T, s *apitest.Server) {
	t.Helper()
	data := s.Query(t, "demo", `{
		skills(first: 20) { nodes { id name status firstSeenAt lastSeenAt uniqueSessions hasEvidence triggerRate avgConfidence confidenceCoverage passRate
			dailyStats(since: "2025-11-01", until: "2026-11-15") { date sessions triggeredSessions triggerRate graded passed passRate avgConfidence } } }
	}`, nil)
	shelf := s.Query(t, "demo", `{
		entries(first: 10) { nodes { id name versions(first: 20) { nodes { id version contentHash isCurrent rolledBack passRate sessions changeSummary fileManifest source sourceRef sourceRepo revokedAt revokeReason pushedAt } } } }
	}`, nil)
	for _, skill := range nodes(data["skills"]) {
		skill.(row)["status"] = strings.ToLower(skill.(row)["status"].(string))
	}
	t.Run("skills", func(t *testing.T) {
		want := map[any]row{}
		for _, n := range nodes(data["skills"]) {
			want[n.(row)["id"]] = snake(t, n, `skill_id=id name=name status=status first_seen_at=firstSeenAt last_seen_at=lastSeenAt unique_sessions=uniqueSessions
				has_evidence=hasEvidence trigger_rate=triggerRate avg_confidence=avgConfidence confidence_coverage=confidenceCoverage pass_rate=passRate`)
		}
		requireSame(t, want, s, "skills", "skill_id", "created_at")
	})
	t.Run("daily-stats", func(t *testing.T) {
		want := map[any]row{}
		for _, n := range nodes(data["skills"]) {
			for _, day := range n.(row)["dailyStats"].([]any) {
				r := snake(t, day, "date=date sessions=sessions triggered_sessions=triggeredSessions trigger_rate=triggerRate graded=graded passed=passed pass_rate=passRate avg_confidence=avgConfidence")
				r["key"], r["skill_id"], r["skill_name"] = fmt.Sprint(n.(row)["id"], "/", r["date"]), n.(row)["id"], n.(row)["name"]
				want[r["key"]] = r
			}
		}
		requireSame(t, want, s, "daily-stats", "key")
	})
	t.Run("versions", func(t *testing.T) {
		want := map[any]row{}
		for _, e := range nodes(shelf["entries"]) {
			for _, v := range nodes(e.(row)["versions"]) {
				r := snake(t, v, `id=id version=version content_hash=contentHash is_current=isCurrent rolled_back=rolledBack aggregate_pass_rate=passRate aggregate_sessions=sessions
					change_summary=changeSummary file_manifest=fileManifest source=source source_ref=sourceRef source_repo=sourceRepo revoked_at=revokedAt revoke_reason=revokeReason pushed_at=pushedAt`)
				r["entry_id"], r["name"] = e.(row)["id"], e.(row)["name"]
				r["source"] = strings.ReplaceAll(strings.ToLower(r["source"].(string)), "_", "-")
				want[r["id"]] = r
			}
		}
		requireSame(t, want, s, "versions", "id")
	})
	t.Run("sessions and invocations", func(t *testing.T) {
		sessions, _ := rows(t, s, "demo", "sessions", nil)
		there := map[any]bool{}
		for _, r := range sessions {
			there[r["session_id"]] = true
		}
		seen, fired := map[any]map[any]bool{}, 0
		invocations, _ := rows(t, s, "demo", "invocations", nil)
		for _, r := range invocations {
			require.Contains(t, there, r["session_id"])
			if seen[r["skill_id"]] == nil {
				seen[r["skill_id"]] = map[any]bool{}
			}
			seen[r["skill_id"]][r["session_id"]] = true
			if r["triggered"] == true {
				fired++
			}
		}
		require.Positive(t, fired)
		for _, n := range nodes(data["skills"]) {
			require.InDelta(t, n.(row)["uniqueSessions"], len(seen[n.(row)["id"]]), 0, n.(row)["name"])
		}
	})
}

func requireSame(t *testing.T, want map[any]row, s *apitest.Server, dataset, key string, besides ...string) {
	t.Helper()
	require.NotEmpty(t, want)
	got, _ := rows(t, s, "demo", dataset, nil)
	for _, r := range got {
		for _, name := range besides {
			require.Contains(t, r, name)
			delete(r, name)
		}
		require.Equal(t, want[r[key]], r)
		delete(want, r[key])
	}
	require.Empty(t, want)
}

func requireSuggestions(t *testing.T, s *apitest.Server) {
	t.Helper()
	data := s.Query(t, "demo", `{ sources(first: 5) { nodes { id skillId suggestions(first: 100) { nodes { id query shouldTrigger source provenance observedCount handledCount confidence
		lastObservedAt invocationType status createdAt review { acceptTarget appliedSuiteId reviewedAt } } } } } }`, nil)
	want := map[any]row{}
	for _, source := range nodes(data["sources"]) {
		for _, n := range nodes(source.(row)["suggestions"]) {
			r := snake(t, n, `id=id query=query should_trigger=shouldTrigger source=source provenance=provenance observed_count=observedCount handled_count=handledCount confidence=confidence
				last_observed_at=lastObservedAt invocation_type=invocationType review_status=status created_at=createdAt`)
			r["source_id"], r["skill_id"] = source.(row)["id"], source.(row)["skillId"]
			r["accept_target"], r["applied_suite_id"], r["reviewed_at"] = nil, nil, nil
			if review, there := n.(row)["review"].(row); there {
				maps.Copy(r, snake(t, review, "accept_target=acceptTarget applied_suite_id=appliedSuiteId reviewed_at=reviewedAt"))
			}
			for _, name := range []string{"source", "provenance", "review_status", "accept_target"} {
				if text, ok := r[name].(string); ok {
					r[name] = strings.ToLower(text)
				}
			}
			want[r["id"]] = r
		}
	}
	requireSame(t, want, s, "suggestions", "id")
}

// requireFormats: both formats have the same rows, fields and order.
func requireFormats(t *testing.T, s *apitest.Server, who string) {
	t.Helper()
	for _, dataset := range store.Datasets() {
		objects, lines := rows(t, s, who, dataset, nil)
		records := table(t, s, who, dataset, url.Values{"format": {"csv"}})
		require.Len(t, records, len(objects)+1, dataset)
		require.True(t, who == "owner" || len(objects) > 5, dataset)
		for i, r := range objects {
			require.Equal(t, keyOf(t, lines[i]), records[i+1][0])
			require.Len(t, r, len(records[0]))
			for n, name := range records[0] {
				require.Equal(t, spell(t, r[name]), records[i+1][n], "%s %s", dataset, name)
			}
		}
	}
}

// spell is a value of JSON as CSV has it.
func spell(t *testing.T, v any) string {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var list []json.RawMessage
		for _, item := range v { // the database keeps the order in which they were written
			o := item.(row)
			list = append(list, fmt.Appendf(nil, `{"path":%q,"hash":%q,"size":%v}`, o["path"], o["hash"], o["size"]))
		}
		b, err := json.Marshal(list)
		require.NoError(t, err)
		return string(b)
	default:
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return string(b)
	}
}

// Names come back as they went in, whatever is in them: in the skill's name, in keys, and in the filter by skill.
func TestNasty(t *testing.T) {
	t.Parallel()
	s := nastyServer(t)
	var names []string
	for _, r := range table(t, s, "viewer", "skills", url.Values{"format": {"csv"}})[1:] {
		names = append(names, r[1])
	}
	require.ElementsMatch(t, nasty, names)
	for _, name := range nasty {
		for dataset, field := range map[string]string{"skills": "name", "invocations": "skill_invocation_id", "sessions": "session_id", "daily-stats": "skill_name"} {
			found, _ := rows(t, s, "viewer", dataset, url.Values{"skill": {name}})
			require.Len(t, found, 1, "%s %q", dataset, name)
			require.Equal(t, name, found[0][field])
		}
	}
	res, _ := get(t, s, "owner", "sessions", url.Values{"format": {"csv"}, "skill": {`with "quotes"`}})
	require.Contains(t, string(res.Body), `"with ""quotes"""`)
	requireFormats(t, s, "owner")
	for _, dataset := range []string{"daily-stats", "sessions", "invocations"} {
		requireResumable(t, s, "owner", dataset, nil)
	}
}

// requireResumable: going on after any row gives exactly the rest, in both formats.
func requireResumable(t *testing.T, s *apitest.Server, who, dataset string, query url.Values) {
	t.Helper()
	_, whole := rows(t, s, who, dataset, query)
	require.Greater(t, len(whole), 3, dataset)
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("format", "csv")
	records := table(t, s, who, dataset, query)
	for i, line := range whole {
		query.Set("after", keyOf(t, line))
		query.Set("format", "csv")
		require.Equal(t, fmt.Sprint(records[i+2:]), fmt.Sprint(table(t, s, who, dataset, query)), "without the header, which is there already")
		query.Set("format", "ndjson")
		_, rest := rows(t, s, who, dataset, query)
		require.Equal(t, fmt.Sprint(whole[i+1:]), fmt.Sprint(rest), dataset)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := nastyServer(t)
	count := func(dataset string, pairs ...string) int {
		query := url.Values{}
		for pair := range slices.Chunk(pairs, 2) {
			query.Set(pair[0], pair[1])
		}
		found, _ := rows(t, s, "owner", dataset, query)
		return len(found)
	}
	for _, dataset := range []string{"invocations", "sessions", "skills"} {
		require.Equal(t, 1, count(dataset, "since", "2026-11-15T12:00:00Z"), "it begins with this very moment")
		require.Equal(t, 2, count(dataset, "since", "2026-11-15T12:00:00+01:00"))
		require.Equal(t, len(nasty)-1, count(dataset, "until", "2026-11-15T12:00:00Z"), "and ends before it")
		require.Equal(t, 1, count(dataset, "since", "2026-11-15T10:30:00Z", "until", "2026-11-15T11:59:59.999Z"))
		require.Equal(t, 0, count(dataset, "since", "2026-11-16"))
	}
	require.Equal(t, len(nasty)-1, count("daily-stats", "since", "2026-11-15"), "a day counts by its beginning")
	require.Equal(t, 1, count("daily-stats", "until", "2026-11-15"))
	id := s.Query(t, "owner", `{ skill(name: "plain") { id } }`, nil)["skill"].(row)["id"].(string)
	require.Equal(t, 1, count("invocations", "skill", id))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for query, want := range map[string]string{
		"since=yesterday":                       `{"path":["since"],"message":"must be a time such as 2026-11-15T12:00:00Z, or a day such as 2026-11-15"}`,
		"until=2026-13-01":                      `{"path":["until"],"message":"must be a time such as 2026-11-15T12:00:00Z, or a day such as 2026-11-15"}`,
		"since=2026-11-02&until=2026-11-02":     `{"path":["until"],"message":"must be after since"}`,
		"format=xml":                            `{"path":["format"],"message":"must be ndjson or csv"}`,
		"after=x":                               `{"path":["after"],"message":"must be the skill_id of the last row that you have"}`,
		"after=":                                `{"path":["after"],"message":"must not be empty"}`,
		"skill=":                                `{"path":["skill"],"message":"must not be empty"}`,
		"sicne=2026-11-02":                      `{"path":["sicne"],"message":"there is no such parameter: there are format, since, until, skill and after"}`,
		"since=2026-11-02T00:00:00Z%00":         `{"path":["since"],"message":"must be a time such as 2026-11-15T12:00:00Z, or a day such as 2026-11-15"}`,
		"since=0000-01-01T00:00:00Z&format=csv": `{"path":["since"],"message":"must be a time such as 2026-11-15T12:00:00Z, or a day such as 2026-11-15"}`,
	} {
		res := s.Do(t, "owner", http.MethodGet, "/v1/export/skills?"+query, nil, nil)
		require.Equal(t, http.StatusBadRequest, res.Status, query)
		require.JSONEq(t, `{"error":"Validation failed","details":`+want+`}`, string(res.Body), query)
		require.Empty(t, res.Header.Get("Trailer"))
	}
	for path, message := range map[string]string{
		"/v1/export/daily-stats?after=2026-11-02":                            "must be the key of the last row that you have",
		"/v1/export/daily-stats?after=" + s.Orgs["acme"].String() + "/today": "must be the key of the last row that you have",
		"/v1/export/sessions?after=%ff":                                      "must be the session_id of the last row that you have",
		"/v1/export/sessions?after=%00":                                      "must be the session_id of the last row that you have",
	} {
		res := s.Do(t, "owner", http.MethodGet, path, nil, nil)
		require.Equal(t, http.StatusBadRequest, res.Status, path)
		require.Contains(t, string(res.Body), message, path)
	}
	res := s.Do(t, "owner", http.MethodGet, "/v1/export/everything", nil, nil)
	require.Equal(t, http.StatusNotFound, res.Status)
	require.Contains(t, string(res.Body), `There is no export of \"everything\": there are daily-stats, invocations, sessions, skills, suggestions, versions`)
	res = s.Do(t, "owner", http.MethodGet, "/v1/export/skills?skill=unheard-of", nil, nil)
	require.Equal(t, http.StatusNotFound, res.Status)
	require.Contains(t, string(res.Body), `There is no skill \"unheard-of\"`)
	res = s.Do(t, "", http.MethodGet, "/v1/export/skills", nil, nil)
	require.Equal(t, http.StatusUnauthorized, res.Status)
	for _, method := range []string{http.MethodHead, http.MethodPost} {
		res = s.Do(t, "owner", method, "/v1/export/skills", nil, nil)
		require.Equal(t, http.StatusMethodNotAllowed, res.Status)
		require.Equal(t, "GET", res.Header.Get("Allow"))
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	const ndjson, csv = "application/x-ndjson", "text/csv; charset=utf-8; header=present"
	for accept, want := range map[string]string{
		"": ndjson, "*/*": ndjson, "text/csv": csv, "application/x-ndjson": ndjson, "text/*": csv, "application/*": ndjson,
		"text/csv;q=0.5, application/x-ndjson;q=0.4": csv, "text/csv, */*;q=0.1": csv, "text/html, */*;q=0.8": ndjson, "application/x-ndjson;q=0, */*": csv,
		"text/html": "", "text/csv;q=0": "", "image/png, application/json, application/ndjson": "", "text/csv;q=much": "",
	} {
		header := http.Header{}
		if accept != "" {
			header.Set("Accept", accept)
		}
		res := s.Do(t, "free", http.MethodGet, "/v1/export/versions", header, nil)
		if want == "" {
			require.Equal(t, http.StatusNotAcceptable, res.Status, accept)
			require.JSONEq(t, `{"error":{"message":"An export can be application/x-ndjson or text/csv","status":406,"code":"NOT_ACCEPTABLE"}}`, string(res.Body))
			res = s.Do(t, "free", http.MethodGet, "/v1/export/versions?format=csv", header, nil)
			require.Equal(t, csv, res.Header.Get("Content-Type"), "the parameter wins")
			continue
		}
		require.Equal(t, http.StatusOK, res.Status, accept)
		require.Equal(t, want, res.Header.Get("Content-Type"), accept)
	}
}

// Of no rows there is a complete export, too.
func TestEmpty(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, dataset := range store.Datasets() {
		found, _ := rows(t, s, "owner", dataset, nil)
		require.Empty(t, found)
		require.Len(t, table(t, s, "owner", dataset, url.Values{"format": {"csv"}}), 1, "the header")
	}
	res, count := get(t, s, "owner", "skills", url.Values{"format": {"csv"}})
	require.Equal(t, "0", count)
	require.Equal(t, `attachment; filename="skills.csv"`, res.Header.Get("Content-Disposition"))
	require.Equal(t, "skill_id,name,status,first_seen_at,last_seen_at,unique_sessions,has_evidence,trigger_rate,avg_confidence,confidence_coverage,pass_rate,created_at\n", string(res.Body))
}

// requireTenancy: nobody sees a row of another organization, whatever they ask for.
func requireTenancy(t *testing.T, s *apitest.Server) {
	t.Helper()
	for _, dataset := range store.Datasets() {
		_, lines := rows(t, s, "demo", dataset, nil)
		for _, query := range []url.Values{nil, {"after": {keyOf(t, lines[0])}}, {"since": {"2020-01-01"}}} {
			found, _ := rows(t, s, "stranger", dataset, query)
			require.Empty(t, found, dataset)
		}
	}
	skills, _ := rows(t, s, "demo", "skills", nil)
	for _, name := range []string{"skill_id", "name"} {
		res, _ := get(t, s, "stranger", "invocations", url.Values{"skill": {skills[0][name].(string)}})
		require.Equal(t, http.StatusNotFound, res.Status)
	}
}

// Packed or not, the trailer is announced and comes.
func TestGzip(t *testing.T) {
	t.Parallel()
	s := nastyServer(t)
	plain := ask(t, s, "owner", "sessions", nil, http.Header{"Accept-Encoding": {"br, gzip;q=0"}})
	require.Empty(t, plain.Header.Get("Content-Encoding"))
	want, err := io.ReadAll(plain.Body)
	require.NoError(t, err)
	res := ask(t, s, "owner", "sessions", nil, http.Header{"Accept-Encoding": {"br;q=1.0, gzip;q=0.8"}})
	require.Equal(t, "gzip", res.Header.Get("Content-Encoding"))
	require.Equal(t, "Accept, Accept-Encoding", res.Header.Get("Vary"))
	require.Contains(t, res.Trailer, "X-Row-Count", "announced")
	require.Empty(t, res.Trailer.Get("X-Row-Count"), "but not known yet")
	unpacked, err := gzip.NewReader(res.Body)
	require.NoError(t, err)
	got, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body) // gzip knows its end before the connection does
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	require.Equal(t, fmt.Sprint(len(nasty)), res.Trailer.Get("X-Row-Count"))
}
