package bench

import (
	"fmt"
	"strings"
	"time"
)

// question is the same thing thrice: as a client asks it in GraphQL, as one statement that builds the whole answer and,
// where there is one, a REST route that shows much the same.
type question struct{ name, query, floor, rest string }

// week is the first of seven days.
func week() string { return time.Now().UTC().AddDate(0, 0, -6).Format(time.DateOnly) }

const orgOfKey = "SELECT org_id FROM api_keys WHERE hash = $1 AND revoked_at IS NULL"

func questions() []question {
	return []question{
		{
			"Q1: a page of 20 skills", `{ skills(first: 20) { nodes { id name status uniqueSessions gradedSessions lastSeenAt passRate } } }`,
			of("skills", `SELECT t.id, t.name, t.status, t.unique_sessions AS "uniqueSessions", t.graded_sessions AS "gradedSessions", t.last_seen_at AS "lastSeenAt", t.pass_rate AS "passRate"
				FROM skills t WHERE t.org_id = (`+orgOfKey+`) ORDER BY t.unseen, t.name, t.id LIMIT 20`),
			"/v1/skills",
		},
		{
			"Q2: 20 skills, each with its entry, 5 versions, connection and 7 days", fmt.Sprintf(`{ skills(first: 20) { nodes { id name status lastSeenAt
				registryEntry { id name entryType description visibility versions(first: 5) { nodes { id version contentHash size source pushedAt } } repoLink { id repoFullName defaultBranch tagPattern } }
				dailyStats(since: %q) { date sessions triggeredSessions graded passed } } } }`, week()),
			of("skills", `SELECT t.id, t.name, t.status, t.last_seen_at AS "lastSeenAt",
				(SELECT row_to_json(e) FROM (SELECT e.id, e.name, e.entry_type AS "entryType", e.description, e.visibility,
					(SELECT json_build_object('nodes', json_agg(v)) FROM (SELECT v.id, v.version, v.content_hash AS "contentHash", v.size, v.source, v.pushed_at AS "pushedAt"
						FROM registry_versions v WHERE v.entry_id = e.id ORDER BY v.number DESC LIMIT 5) v) AS versions,
					(SELECT row_to_json(l) FROM (SELECT l.id, l.repo_full_name AS "repoFullName", l.default_branch AS "defaultBranch", l.tag_pattern AS "tagPattern"
						FROM repo_links l WHERE l.org_id = e.org_id AND l.entry_id = e.id) l) AS "repoLink"
					FROM registry_entries e WHERE e.org_id = t.org_id AND e.skill_id = t.id) e) AS "registryEntry",
				(SELECT json_agg(d) FROM (SELECT d.day AS date, d.sessions, d.triggered_sessions AS "triggeredSessions", d.graded, d.passed
					FROM skill_days d WHERE d.org_id = t.org_id AND d.skill_id = t.id AND d.day >= '`+week()+`' ORDER BY d.day) d) AS "dailyStats"
				FROM skills t WHERE t.org_id = (`+orgOfKey+`) ORDER BY t.unseen, t.name, t.id LIMIT 20`),
			"",
		},
		{
			"Q3: 20 sources, each with 10 suggestions, their reviews and suites", `{ sources(first: 20) { nodes { id label
				suggestions(first: 10) { nodes { id query observedCount confidence lastObservedAt review { id reviewStatus reviewedAt appliedSuite { id name caseCount } } } } } } }`,
			of("sources", `SELECT 'cs_' || c.id AS id, c.label, (SELECT json_build_object('nodes', json_agg(s)) FROM (
					SELECT s.id, s.query, s.observed_count AS "observedCount", s.confidence, s.last_observed_at AS "lastObservedAt",
						(SELECT row_to_json(r) FROM (SELECT r.id, r.review_status AS "reviewStatus", r.reviewed_at AS "reviewedAt",
							(SELECT row_to_json(e) FROM (SELECT e.id, e.name, e.case_count AS "caseCount" FROM eval_suites e WHERE e.org_id = r.org_id AND e.id = r.applied_suite_id) e) AS "appliedSuite"
							FROM suggestion_reviews r WHERE r.org_id = s.org_id AND r.source_id = s.source_id AND r.suggestion_id = s.id) r) AS review
					FROM eval_suggestions s WHERE s.org_id = c.org_id AND s.source_id = c.id AND s.query <> '' ORDER BY s.observed_count DESC, s.last_observed_at DESC, s.id DESC LIMIT 10) s) AS suggestions
				FROM cloud_sources c WHERE c.org_id = (`+orgOfKey+`) ORDER BY c.id DESC LIMIT 20`),
			"",
		},
		{
			"Q4: one skill with its entry", `{ skill(name: "skill-7") { id name status lastSeenAt registryEntry { id name entryType description visibility updatedAt } } }`,
			`SELECT json_build_object('data', json_build_object('skill', (SELECT row_to_json(s) FROM (SELECT t.id, t.name, t.status, t.last_seen_at AS "lastSeenAt",
				(SELECT row_to_json(e) FROM (SELECT e.id, e.name, e.entry_type AS "entryType", e.description, e.visibility, e.updated_at AS "updatedAt"
					FROM registry_entries e WHERE e.org_id = t.org_id AND e.skill_id = t.id) e) AS "registryEntry"
				FROM skills t WHERE t.org_id = (` + orgOfKey + `) AND t.name = 'skill-7') s)))`,
			"/v1/skills/skill-7",
		},
		{
			"Q5: 40 entries, each with 25 versions and their installs", `{ entries(first: 40) { nodes { id name versions(first: 25) { nodes { id version contentHash size pushedAt installationCount } } } } }`,
			of("entries", `SELECT e.id, e.name, (SELECT json_build_object('nodes', json_agg(v)) FROM (
					SELECT v.id, v.version, v.content_hash AS "contentHash", v.size, v.pushed_at AS "pushedAt",
						(SELECT count(*) FROM registry_installations i WHERE i.version_id = v.id) AS "installationCount"
					FROM registry_versions v WHERE v.entry_id = e.id ORDER BY v.number DESC LIMIT 25) v) AS versions
				FROM registry_entries e WHERE e.org_id = (`+orgOfKey+`) ORDER BY e.id DESC LIMIT 40`),
			"",
		},
	}
}

// of wraps the rows of a statement as GraphQL would.
func of(root, rows string) string {
	return strings.NewReplacer("$root", root, "$rows", rows).Replace(
		`SELECT json_build_object('data', json_build_object('$root', json_build_object('nodes', json_agg(s)))) FROM ($rows) s`)
}
