package export_test

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/demo"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	dbtest.Main(m)
}

// demoServer has the demo data, with the key of its owner as "demo".
func demoServer(t *testing.T) *apitest.Server {
	t.Helper()
	url, clock := dbtest.Database(t), demo.NewClock(apitest.Noon)
	db := dbtest.Open(t, url, store.Options{MaxConns: 10, Clock: clock.Now})
	s := apitest.Open(t, url, db)
	key, err := demo.Load(t.Context(), db, s.Blobs, s.Repos, clock)
	require.NoError(t, err)
	s.Keys["demo"] = key
	return s
}

// nasty are names that formats like to stumble over.
var nasty = []string{"plain", "with, comma", `with "quotes"`, "with\nnewline", `back\slash`, `\.`, "=1+1", "@SUM(A1)", "naïve 日本語 🎉", "'; DROP TABLE skills; --", "a/b", "\u2028", "tab\tbell\x07return\r", " spaces "}

// nastyServer has sessions, invocations and a skill for each of them.
func nastyServer(t *testing.T) *apitest.Server {
	t.Helper()
	s := apitest.New(t)
	c := models.Canonical{}
	for i, name := range nasty {
		at := apitest.Noon.Add(-time.Duration(i) * time.Hour)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: name, Platform: &name, StartedAt: &at})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: name, SessionID: name, OccurredAt: &at, SkillName: name, Triggered: new(i%2 == 0), Confidence: new(float64(i) / 10)})
	}
	_, err := s.Org().Push(t.Context(), &models.Push{ID: ids.New(ids.Push, apitest.Noon), Canonical: c})
	require.NoError(t, err)
	return s
}

// get reads an export to its end, with its trailer.
func get(t testing.TB, s *apitest.Server, who, path string, query url.Values) (apitest.Response, string) {
	t.Helper()
	res := ask(t, s, who, path, query, nil)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return apitest.Response{Status: res.StatusCode, Header: res.Header, Body: body}, res.Trailer.Get("X-Row-Count")
}

// ask sends a request and leaves the answer to be read. Every one has a connection of its own.
func ask(t testing.TB, s *apitest.Server, who, path string, query url.Values, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/export/"+path+"?"+query.Encode(), nil)
	require.NoError(t, err)
	maps.Copy(req.Header, header)
	req.Header.Set("Authorization", "Bearer "+s.Keys[who])
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(client.CloseIdleConnections)
	res, err := client.Do(req)
	require.NoError(t, err)
	return res
}

type row = map[string]any

// rows are those of an NDJSON export that must be complete.
func rows(t testing.TB, s *apitest.Server, who, path string, query url.Values) (out []row, lines []string) {
	t.Helper()
	res, count := get(t, s, who, path, query)
	require.Equal(t, http.StatusOK, res.Status, string(res.Body))
	scanner := bufio.NewScanner(bytes.NewReader(res.Body))
	for scanner.Scan() {
		r := row{}
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &r), scanner.Text())
		out, lines = append(out, r), append(lines, scanner.Text())
	}
	require.NoError(t, scanner.Err())
	require.Equal(t, fmt.Sprint(len(out)), count)
	return out, lines
}

// table is a CSV export that must be complete.
func table(t testing.TB, s *apitest.Server, who, path string, query url.Values) [][]string {
	t.Helper()
	res, count := get(t, s, who, path, query)
	require.Equal(t, http.StatusOK, res.Status, string(res.Body))
	r := csv.NewReader(bytes.NewReader(res.Body))
	out, err := r.ReadAll()
	require.NoError(t, err)
	if query.Get("after") == "" {
		require.Equal(t, fmt.Sprint(len(out)-1), count)
	} else {
		require.Equal(t, fmt.Sprint(len(out)), count)
	}
	return out
}

// keyOf is the first field of a line: what after takes.
func keyOf(t testing.TB, line string) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(line)))
	for range 2 { // { and the name
		_, err := dec.Token()
		require.NoError(t, err)
	}
	key, err := dec.Token()
	require.NoError(t, err)
	return key.(string)
}
