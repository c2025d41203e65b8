package bench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/models"
)

func cpu(pid int) float64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	n, _ := strconv.ParseFloat(strings.Fields(string(raw))[0], 64)
	return n / 1000
}

func BenchmarkExplain(b *testing.B) {
	s := apitest.New(b)
	populate(b, s)
	ctx := context.Background()
	org := s.Orgs["acme"]
	var skills, entries, all, versions []string
	c, err := pgx.Connect(ctx, s.Database)
	require.NoError(b, err)
	for dst, sql := range map[*[]string]string{&skills: "SELECT id::text FROM skills WHERE org_id = $1 LIMIT 20", &entries: "SELECT id::text FROM registry_entries WHERE org_id = $1 LIMIT 20", &all: "SELECT id::text FROM registry_entries WHERE org_id = $1", &versions: "SELECT id::text FROM registry_versions WHERE org_id = $1"} {
		rows, err := c.Query(ctx, sql, org.String())
		require.NoError(b, err)
		*dst, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(b, err)
	}
	sv := `t.org_id, t.id, t.entry_id, t.number, t.version, t.precedence, t.prerelease, t.content_hash, t.client_tag, t.skill_hash, t.size, t.file_count, t.change_summary, t.source, t.source_ref, t.source_repo, t.baseline, t.rolled_back, t.revoked_at, t.revoke_reason, t.pushed_by, t.pushed_at`
	visible := `(e.org_id = $1 OR e.visibility <> 'ORG')`
	ofVisible := "EXISTS (SELECT FROM registry_entries e WHERE e.id = t.entry_id AND " + visible + ")"
	key := models.HashKey(s.Keys["owner"])
	for _, q := range []struct {
		name, sql string
		args      []any
	}{
		{"skills lateral", `SELECT p.id AS parent_key, r.* FROM unnest($2::uuid[]) WITH ORDINALITY AS p(id, n) CROSS JOIN LATERAL (
		SELECT t.org_id, t.id, t.name, t.first_seen_at, t.last_seen_at, t.unique_sessions, t.graded_sessions, t.recent_graded, t.pass_rate, t.baseline, t.status, t.created_at, row_number() OVER (ORDER BY t.unseen ASC, t.name ASC, t.id ASC) AS place FROM skills t WHERE t.org_id = $1 AND t.org_id = p.id ORDER BY t.unseen ASC, t.name ASC, t.id ASC LIMIT $3 OFFSET $4
	) r ORDER BY p.n, r.place`, []any{org.String(), []string{org.String()}, 21, 0}},
		{"skills plain", `SELECT t.org_id, t.id, t.name, t.first_seen_at, t.last_seen_at, t.unique_sessions, t.graded_sessions, t.recent_graded, t.pass_rate, t.baseline, t.status, t.created_at FROM skills t WHERE t.org_id = $1 AND t.org_id = $2 ORDER BY t.unseen ASC, t.name ASC, t.id ASC LIMIT $3 OFFSET $4`, []any{org.String(), org.String(), 21, 0}},
		{"versions lateral", `SELECT p.id AS parent_key, r.* FROM unnest($2::uuid[]) WITH ORDINALITY AS p(id, n) CROSS JOIN LATERAL (
		SELECT ` + sv + `, row_number() OVER (ORDER BY t.number DESC, t.id DESC) AS place FROM registry_versions t WHERE ` + ofVisible + ` AND t.entry_id = p.id ORDER BY t.number DESC, t.id DESC LIMIT $3 OFFSET $4
	) r ORDER BY p.n, r.place`, []any{org.String(), entries, 6, 0}},
		{"versions lateral, no place", `SELECT p.id AS parent_key, r.* FROM unnest($2::uuid[]) WITH ORDINALITY AS p(id, n) CROSS JOIN LATERAL (
		SELECT ` + sv + ` FROM registry_versions t WHERE ` + ofVisible + ` AND t.entry_id = p.id ORDER BY t.number DESC, t.id DESC LIMIT $3 OFFSET $4
	) r`, []any{org.String(), entries, 6, 0}},
		{"days", `SELECT t.skill_id, t.day, t.sessions, t.triggered_sessions, t.triggers, t.scored, t.confidence, t.graded, t.passed, t.rate FROM skill_days t
		WHERE t.org_id = $1 AND t.skill_id = ANY($2) AND t.day BETWEEN $3 AND $4 AND (t.sessions > 0 OR t.graded > 0) ORDER BY t.skill_id, t.day`, []any{org.String(), skills, "2026-11-09", "2026-11-15"}},
		{"entries of skills", `SELECT t.org_id, t.id, t.skill_id, t.name, t.entry_type, t.description, t.visibility, t.source_repo, t.current_version_id, t.created_by, t.created_at, t.updated_at FROM registry_entries t WHERE t.org_id = $1 AND t.skill_id = ANY($2)`, []any{org.String(), skills}},
		{"counts", `SELECT t.id, (SELECT count(*) FROM registry_installations i WHERE i.version_id = t.id) AS n
		FROM registry_versions t WHERE ` + ofVisible + ` AND t.id = ANY($2)`, []any{org.String(), versions}},
		{"counts A", `SELECT i.version_id AS id, count(*) AS n FROM registry_installations i JOIN registry_versions t ON t.id = i.version_id WHERE `+ofVisible+` AND i.version_id = ANY($2) GROUP BY 1`, []any{org.String(), versions}},
		{"counts B", `SELECT i.version_id AS id, count(*) AS n FROM registry_installations i JOIN registry_entries e ON e.id = i.entry_id WHERE `+visible+` AND i.version_id = ANY($2) GROUP BY 1`, []any{org.String(), versions}},
		{"versions 40x25", `SELECT p.id AS parent_key, r.* FROM unnest($2::uuid[]) AS p(id) CROSS JOIN LATERAL (
		SELECT ` + sv + ` FROM registry_versions t WHERE ` + ofVisible + ` AND t.entry_id = p.id ORDER BY t.number DESC, t.id DESC LIMIT $3 OFFSET $4
	) r`, []any{org.String(), all, 26, 0}},
		{"floor 1", questions[0].floor, []any{key}},
		{"floor 2", questions[1].floor, []any{key}},
		{"floor 3", questions[2].floor, []any{key}},
	} {
		for _, mode := range []string{"auto", "force_generic_plan"} {
			c, err := pgx.Connect(ctx, s.Database)
			require.NoError(b, err)
			_, err = c.Exec(ctx, "SET plan_cache_mode = "+mode)
			require.NoError(b, err)
			run := func(n int) {
				for range n {
					rows, err := c.Query(ctx, q.sql, q.args...)
					require.NoError(b, err)
					for rows.Next() {
					}
					require.NoError(b, rows.Err())
				}
			}
			run(20)
			before := cpu(int(c.PgConn().PID()))
			n := 200
			run(n)
			fmt.Printf("%-30s %-20s %7.0f µs of PostgreSQL\n", q.name, mode, (cpu(int(c.PgConn().PID()))-before)/float64(n))
			if os.Getenv("EXPLAIN") != "" && mode != "auto" && strings.Contains(q.name, os.Getenv("EXPLAIN")) {
				_, err = c.Exec(ctx, "PREPARE x AS "+q.sql)
				require.NoError(b, err)
				args := make([]string, len(q.args))
				for i, a := range q.args {
					switch a := a.(type) {
					case []string:
						args[i] = "'{" + strings.Join(a, ",") + "}'"
					default:
						args[i] = fmt.Sprintf("'%v'", a)
					}
				}
				rows, err := c.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS) EXECUTE x("+strings.Join(args, ", ")+")", pgx.QueryExecModeSimpleProtocol)
				require.NoError(b, err)
				for rows.Next() {
					var l string
					require.NoError(b, rows.Scan(&l))
					fmt.Println(l)
				}
				require.NoError(b, rows.Err())
			}
			c.Close(ctx)
		}
	}
}
