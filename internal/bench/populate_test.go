package bench

import (
	"fmt"
	"testing"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
)

// What the benchmark database has.
const (
	organizations = 50
	invocations   = 2_000_000
)

// populate fills acme and others, so many in all, each with 40 skills of 90 days; 40 entries with 25 versions, 5 devices and
// a repository; 20 sources with 30 suggestions, all of them reviewed; and 10 suites.
func populate(tb testing.TB, s *apitest.Server, organizations, invocations int) {
	tb.Helper()
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO organizations (id, name, plan, created_at) SELECT gen_random_uuid(), 'org' || n, 'TEAM', now() FROM generate_series(1, %d - (SELECT count(*) FROM organizations)) n`, organizations),
		`INSERT INTO users (id, email, created_at) SELECT gen_random_uuid(), name || '@bench.example.com', now() FROM organizations`,
		`INSERT INTO members (org_id, user_id, role, joined_at) SELECT o.id, u.id, 'OWNER', now() FROM organizations o JOIN users u ON u.email = o.name || '@bench.example.com'`,
		`INSERT INTO blobs (hash, size, touched_at) SELECT encode(sha256(n::text::bytea), 'hex'), 1000, now() FROM generate_series(1, 1000) n`,
		`INSERT INTO skills (org_id, id, name, first_seen_at, last_seen_at, unique_sessions, graded_sessions, recent_graded, pass_rate, status, created_at, unseen)
			SELECT o.id, gen_random_uuid(), 'skill-' || n, now() - interval '90 days', now() - n * interval '1 hour', 1000 + n, 100 + n, 20, 0.5 + n / 100.0, 'HEALTHY', now(),
				-floor(extract(epoch FROM now() - n * interval '1 hour') * 1000)
			FROM organizations o, generate_series(1, 40) n`,
		`INSERT INTO skill_days (org_id, skill_id, day, sessions, triggered_sessions, triggers, scored, confidence, graded, passed, rate)
			SELECT org_id, id, current_date - n, 20 + n, 15, 30, 20, 12000000000, 5, 4, 4000000000 FROM skills, generate_series(0, 89) n`,
		`INSERT INTO registry_entries (org_id, id, skill_id, name, entry_type, description, visibility, pushes, created_by, created_at, updated_at)
			SELECT s.org_id, gen_random_uuid(), s.id, s.name, 'SKILL', 'What ' || s.name || ' is good for, in a sentence or two.', 'ORG', 25, m.user_id, now() - interval '60 days', now()
			FROM skills s JOIN members m ON m.org_id = s.org_id JOIN users u ON u.id = m.user_id AND u.email LIKE '%@bench.example.com'`,
		`INSERT INTO registry_versions (org_id, id, entry_id, number, version, precedence, prerelease, content_hash, skill_hash, hashes, size, file_count, files, source, pushed_by, pushed_at)
			SELECT e.org_id, gen_random_uuid(), e.id, n, '1.' || n || '.0', to_char(n, 'FM0000'), false, b.hash, b.hash, ARRAY[b.hash], 1000 + n, 3, '[]', 'CLI', e.created_by, e.created_at + n * interval '1 day'
			FROM registry_entries e, generate_series(1, 25) n JOIN blobs b ON b.hash = encode(sha256(n::text::bytea), 'hex')`,
		`UPDATE registry_entries e SET current_version_id = v.id FROM registry_versions v WHERE v.entry_id = e.id AND v.number = 25`,
		`INSERT INTO registry_installations (org_id, id, entry_id, user_id, device_id, version_id, content_hash, installed_at)
			SELECT e.org_id, gen_random_uuid(), e.id, e.created_by, 'device ' || n, v.id, v.content_hash, now()
			FROM registry_entries e, generate_series(1, 5) n JOIN registry_versions v ON v.number = 20 + n WHERE v.entry_id = e.id`,
		`INSERT INTO repo_installations (org_id, id, installation_id, account_login, account_type, suspended, created_at, updated_at)
			SELECT id, gen_random_uuid(), row_number() OVER (ORDER BY id), name, 'ORGANIZATION', false, now(), now() FROM organizations`,
		`INSERT INTO repo_links (org_id, id, entry_id, repo_installation_id, repo_id, repo_full_name, default_branch, skill_path, auto_publish, write_back_enabled, tag_pattern, created_by, created_at, updated_at)
			SELECT e.org_id, gen_random_uuid(), e.id, i.id, 1, i.account_login || '/' || e.name, 'main', '.', true, false, 'v*', e.created_by, now(), now()
			FROM registry_entries e JOIN repo_installations i ON i.org_id = e.org_id`,
		`INSERT INTO cloud_sources (org_id, id, label, source_type, created_at) SELECT id, gen_random_uuid(), 'Source ' || n, 'UPLOAD', now() FROM organizations, generate_series(1, 20) n`,
		`INSERT INTO eval_suites (org_id, id, source_kind, name, verifier_kind, supports_no_skill, case_count, suite_kind, revision, created_at, updated_at)
			SELECT id, gen_random_uuid(), 'MANUAL', 'Suite ' || n, 'LLM_JUDGE', true, 1, 'TRIGGER', 1, now(), now() FROM organizations, generate_series(1, 10) n`,
		`INSERT INTO eval_suggestions (org_id, id, source_id, query, should_trigger, missed, good, last_observed_at, bands, created_at)
			SELECT org_id, gen_random_uuid(), id, 'please fill in form ' || n || ' of ' || label, true, n, 5, now() - n * interval '1 hour', '{}', now() FROM cloud_sources, generate_series(1, 30) n`,
		`INSERT INTO suggestion_reviews (org_id, id, source_id, suggestion_id, review_status, accept_target, applied_suite_id, applied_to_suite_at, query, should_trigger, source, provenance, reviewed_at)
			SELECT t.org_id, gen_random_uuid(), t.source_id, t.id, 'ACCEPTED', 'SAVED_SUITE', s.id, now(), t.query, true, 'LINKED_TELEMETRY', 'MISSED_QUERY', now()
			FROM eval_suggestions t JOIN eval_suites s ON s.org_id = t.org_id AND s.name = 'Suite ' || 1 + t.missed % 10`,
		fmt.Sprintf(`INSERT INTO invocations (org_id, invocation_id, session_id, skill_id, occurred_at, triggered, confidence)
			SELECT org_id, name || ' ' || n, 'session ' || n / 4, id, now() - n * interval '10 minutes', true, 0.5
			FROM skills, generate_series(1, %d / (SELECT count(*) FROM skills)) n`, invocations),
		`VACUUM ANALYZE`,
	} {
		dbtest.Exec(tb, s.Database, sql)
	}
}
