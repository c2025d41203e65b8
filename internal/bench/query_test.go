package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"skillgraph/graph"
	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/server"
	"skillgraph/models"
)

// The queries are measured with so many clients at a time, each executor in turn, for so long.
const (
	queryClients = 32
	queryRound   = time.Second
	queryRounds  = 4
)

// questions are the same thing twice: as a client asks it, and as one statement that builds the whole answer.
var questions = []struct{ name, query, floor string }{
	{
		"20 skills", `{ skills(first: 20) { nodes { id name status uniqueSessions gradedSessions lastSeenAt passRate } } }`,
		`SELECT json_build_object('data', json_build_object('skills', json_build_object('nodes', json_agg(s)))) FROM (
			SELECT t.id, t.name, t.status, t.unique_sessions AS "uniqueSessions", t.graded_sessions AS "gradedSessions", t.last_seen_at AS "lastSeenAt", t.pass_rate AS "passRate"
			FROM skills t WHERE t.org_id = (` + orgOfKey + `) ORDER BY t.unseen, t.name, t.id LIMIT 20) s`,
	},
	{
		"20 skills, their entries with 5 versions, and 7 days", `{ skills(first: 20) { nodes { id name status lastSeenAt
			registryEntry { id name entryType description visibility versions(first: 5) { nodes { id version contentHash size source pushedAt } } }
			dailyStats(since: "2026-11-09") { date sessions triggeredSessions graded passed } } } }`,
		`SELECT json_build_object('data', json_build_object('skills', json_build_object('nodes', json_agg(s)))) FROM (
			SELECT t.id, t.name, t.status, t.last_seen_at AS "lastSeenAt",
				(SELECT row_to_json(e) FROM (SELECT e.id, e.name, e.entry_type AS "entryType", e.description, e.visibility,
					(SELECT json_build_object('nodes', json_agg(v)) FROM (SELECT v.id, v.version, v.content_hash AS "contentHash", v.size, v.source, v.pushed_at AS "pushedAt"
						FROM registry_versions v WHERE v.entry_id = e.id ORDER BY v.number DESC LIMIT 5) v) AS versions
					FROM registry_entries e WHERE e.org_id = t.org_id AND e.skill_id = t.id) e) AS "registryEntry",
				(SELECT json_agg(d) FROM (SELECT d.day AS date, d.sessions, d.triggered_sessions AS "triggeredSessions", d.graded, d.passed
					FROM skill_days d WHERE d.org_id = t.org_id AND d.skill_id = t.id AND d.day BETWEEN '2026-11-09' AND '2026-11-15' ORDER BY d.day) d) AS "dailyStats"
			FROM skills t WHERE t.org_id = (` + orgOfKey + `) ORDER BY t.unseen, t.name, t.id LIMIT 20) s`,
	},
	{
		"40 entries with 25 versions and their counts", `{ entries(first: 40) { nodes { id name versions(first: 25) { nodes { id version contentHash size pushedAt installationCount } } } } }`,
		`SELECT json_build_object('data', json_build_object('entries', json_build_object('nodes', json_agg(e)))) FROM (
			SELECT e.id, e.name, (SELECT json_build_object('nodes', json_agg(v)) FROM (
				SELECT v.id, v.version, v.content_hash AS "contentHash", v.size, v.pushed_at AS "pushedAt",
					(SELECT count(*) FROM registry_installations i WHERE i.version_id = v.id) AS "installationCount"
				FROM registry_versions v WHERE v.entry_id = e.id ORDER BY v.number DESC LIMIT 25) v) AS versions
			FROM registry_entries e WHERE e.org_id = (` + orgOfKey + `) ORDER BY e.id DESC LIMIT 40) e`,
	},
}

const orgOfKey = "SELECT org_id FROM api_keys WHERE hash = $1 AND revoked_at IS NULL"

// BenchmarkQueries measures both executors against the floor.
func BenchmarkQueries(b *testing.B) {
	s := apitest.New(b)
	populate(b, s)
	other, err := server.New(server.Config{Store: s.Store, Alerts: s.Alerts, Registry: s.Host.Registry, Sources: s.Hosting, Host: s.Host, Executor: graph.Gqlgen, Clock: func() time.Time { return apitest.Noon }})
	require.NoError(b, err)
	old := httptest.NewServer(other)
	b.Cleanup(old.Close)
	for _, q := range questions {
		b.Run(q.name, func(b *testing.B) {
			body := fmt.Sprintf(`{"query":%q}`, q.query)
			contenders := []*contender{
				{name: "floor", url: questionServer(b, s, q.floor), request: request(http.MethodGet, "/", s.Keys["owner"], "")},
				{name: "level", url: s.URL, request: request(http.MethodPost, "/graphql", s.Keys["owner"], body)},
				{name: "gqlgen", url: old.URL, request: request(http.MethodPost, "/graphql", s.Keys["owner"], body)},
			}
			for _, c := range contenders {
				c.answer = bytes.Clone(c.dial(b).ask(b))
				require.NotContains(b, string(c.answer), `"errors"`)
			}
			require.Equal(b, string(contenders[2].answer), string(contenders[1].answer))
			for range queryRounds * b.N {
				for _, c := range contenders { // in turn, so that whatever else the machine does hits all alike
					before := s.Store.Statements()
					c.hammer(b)
					c.statements += s.Store.Statements() - before
				}
			}
			for _, c := range contenders {
				b.Logf("%-7s %7.0f/s  p50 %7.2f ms  p99 %7.2f ms  %5.2f statements  %6d bytes  %.2f of the floor", c.name, c.perSecond(b.N),
					c.quantile(0.5), c.quantile(0.99), float64(c.statements)/float64(len(c.times)), len(c.answer), float64(len(c.times))/float64(len(contenders[0].times)))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// contender is a server that is asked a question.
type contender struct {
	name, url  string
	request    []byte
	answer     []byte
	times      []time.Duration
	statements int64
}

func (c *contender) perSecond(n int) float64 {
	return float64(len(c.times)) / (queryRound.Seconds() * queryRounds * float64(n))
}

// quantile is in milliseconds.
func (c *contender) quantile(q float64) float64 {
	slices.Sort(c.times)
	return float64(c.times[int(q*float64(len(c.times)-1))].Microseconds()) / 1000
}

// hammer asks over all connections for a while.
func (c *contender) hammer(b *testing.B) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(queryRound)
	for range queryClients {
		wg.Go(func() {
			l := c.dial(b)
			defer l.Close()
			var times []time.Duration
			for last := time.Now(); last.Before(end); {
				l.ask(b)
				now := time.Now()
				times = append(times, now.Sub(last))
				last = now
			}
			mu.Lock()
			c.times = append(c.times, times...)
			mu.Unlock()
		})
	}
	wg.Wait()
}

// line is a connection that sends the same request again and again. It does as little as a client can, because it runs
// on the same cores as the server.
type line struct {
	net.Conn
	in      *bufio.Reader
	request []byte
	body    []byte
}

func (c *contender) dial(b *testing.B) *line {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	require.NoError(b, err)
	return &line{Conn: conn, in: bufio.NewReaderSize(conn, 64<<10), request: c.request}
}

func request(method, path, key, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, key, len(body), body)
}

// ask sends the request and returns the body of the answer, until the next one.
func (l *line) ask(b *testing.B) []byte {
	_, err := l.Write(l.request)
	require.NoError(b, err)
	status, err := l.in.ReadSlice('\n')
	require.NoError(b, err)
	require.True(b, bytes.HasPrefix(status, []byte("HTTP/1.1 200")), string(status))
	for length := -1; ; {
		header, err := l.in.ReadSlice('\n')
		require.NoError(b, err)
		if v, ok := bytes.CutPrefix(header, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
		if len(header) == 2 {
			require.NotEqual(b, -1, length, "the answer does not tell its length")
			l.body = slices.Grow(l.body[:0], length)[:length]
			_, err := io.ReadFull(l.in, l.body)
			require.NoError(b, err)
			return l.body
		}
	}
}

// questionServer answers with what a statement builds, and looks up whose key it is, too.
func questionServer(b *testing.B, s *apitest.Server, sql string) string {
	cfg, err := pgxpool.ParseConfig(s.Database)
	require.NoError(b, err)
	cfg.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(b.Context(), cfg)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if err := pool.QueryRow(r.Context(), sql, models.HashKey(key)).Scan(&body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}))
	b.Cleanup(srv.Close)
	return srv.URL
}

// populate fills acme and nine organizations beside it: 40 skills with 90 days, 40 entries with 25 versions and 5 devices each.
func populate(b *testing.B, s *apitest.Server) {
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, plan, created_at) SELECT gen_random_uuid(), 'org' || n, 'TEAM', now() FROM generate_series(1, 9) n`,
		`INSERT INTO users (id, email, created_at) SELECT gen_random_uuid(), name || '@bench.example.com', now() FROM organizations`,
		`INSERT INTO members (org_id, user_id, role, joined_at) SELECT o.id, u.id, 'OWNER', now() FROM organizations o JOIN users u ON u.email = o.name || '@bench.example.com'`,
		`INSERT INTO blobs (hash, size, touched_at) SELECT encode(sha256(n::text::bytea), 'hex'), 1000, now() FROM generate_series(1, 1000) n`,
		`INSERT INTO skills (org_id, id, name, first_seen_at, last_seen_at, unique_sessions, graded_sessions, recent_graded, pass_rate, status, created_at)
			SELECT o.id, gen_random_uuid(), 'skill-' || n, '2026-08-01', timestamptz '2026-11-15' - n * interval '1 hour', 1000 + n, 100 + n, 20, 0.5 + n / 100.0, 'HEALTHY', '2026-08-01'
			FROM organizations o, generate_series(1, 40) n`,
		`INSERT INTO skill_days (org_id, skill_id, day, sessions, triggered_sessions, triggers, scored, confidence, graded, passed, rate)
			SELECT org_id, id, date '2026-11-15' - n, 20 + n, 15, 30, 20, 12000000000, 5, 4, 4000000000 FROM skills, generate_series(0, 89) n`,
		`INSERT INTO registry_entries (org_id, id, skill_id, name, entry_type, description, visibility, pushes, created_by, created_at, updated_at)
			SELECT s.org_id, gen_random_uuid(), s.id, s.name, 'SKILL', 'What ' || s.name || ' is good for, in a sentence or two.', 'ORG', 25, m.user_id, '2026-09-01', '2026-11-01'
			FROM skills s JOIN members m ON m.org_id = s.org_id JOIN users u ON u.id = m.user_id AND u.email LIKE '%@bench.example.com'`,
		`INSERT INTO registry_versions (org_id, id, entry_id, number, version, precedence, prerelease, content_hash, skill_hash, hashes, size, file_count, files, source, pushed_by, pushed_at)
			SELECT e.org_id, gen_random_uuid(), e.id, n, '1.' || n || '.0', to_char(n, 'FM0000'), false, b.hash, b.hash, ARRAY[b.hash], 1000 + n, 3, '[]', 'CLI', e.created_by, timestamptz '2026-09-01' + n * interval '1 day'
			FROM registry_entries e, generate_series(1, 25) n JOIN blobs b ON b.hash = encode(sha256(n::text::bytea), 'hex')`,
		`UPDATE registry_entries e SET current_version_id = v.id FROM registry_versions v WHERE v.entry_id = e.id AND v.number = 25`,
		`INSERT INTO registry_installations (org_id, id, entry_id, user_id, device_id, version_id, content_hash, installed_at)
			SELECT e.org_id, gen_random_uuid(), e.id, e.created_by, 'device ' || n, v.id, v.content_hash, now() FROM registry_entries e, generate_series(1, 5) n JOIN registry_versions v ON v.number = 20 + n WHERE v.entry_id = e.id`,
		`VACUUM ANALYZE`,
	} {
		dbtest.Exec(b, s.Database, sql)
	}
}
