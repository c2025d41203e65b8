package store

import (
	"context"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// CountsOf is the batch for how much organizations have of what is cheap to count: of the caller's own, or nothing.
func (o Org) CountsOf(ctx context.Context, orgs []ids.ID) (map[ids.ID]*models.OrganizationCounts, error) {
	rows, err := query[models.OrganizationCounts](ctx, o.pg, `SELECT g.id AS org_id, s.*,
			(SELECT count(*) FROM cloud_sources t WHERE t.org_id = g.id) AS sources,
			(SELECT count(*) FROM eval_suites t WHERE t.org_id = g.id AND t.archived_at IS NULL) AS suites,
			(SELECT count(*) FROM registry_entries t WHERE t.org_id = g.id) AS entries,
			(SELECT count(*) FROM repo_links t WHERE t.org_id = g.id) AS repo_links,
			(SELECT count(*) FROM alerts t WHERE t.org_id = g.id AND t.state = 'FIRING') AS firing_alerts,
			(SELECT count(*) FROM incidents t WHERE t.org_id = g.id AND t.resolved_at IS NULL) AS open_incidents,
			(SELECT count(*) FROM proposals t WHERE t.org_id = g.id AND t.status = 'PENDING') AS pending_proposals,
			(SELECT count(*) FROM members t WHERE t.org_id = g.id AND t.removed_at IS NULL) AS members
		FROM organizations g CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE t.status = 'HEALTHY') AS healthy, count(*) FILTER (WHERE t.status = 'WARNING') AS warning,
				count(*) FILTER (WHERE t.status = 'CRITICAL') AS critical, count(*) FILTER (WHERE t.status = 'UNKNOWN') AS unknown
			FROM skills t WHERE t.org_id = g.id) s
		WHERE g.id = $1 AND g.id = ANY($2)`, o.id, orgs)
	return byID(rows, func(c *models.OrganizationCounts) ids.ID { return c.OrgID }), err
}

// What an organization may have very many of is counted by itself, when somebody asks.

// VersionCounts is the batch for how many versions organizations have.
func (o Org) VersionCounts(ctx context.Context, orgs []ids.ID) (map[ids.ID]int, error) {
	return o.count(ctx, orgs, "registry_versions t")
}

// DeviceCounts is the batch for how many records of devices organizations have.
func (o Org) DeviceCounts(ctx context.Context, orgs []ids.ID) (map[ids.ID]int, error) {
	return o.count(ctx, orgs, "registry_installations t")
}

// PendingSuggestionCounts is the batch for how many suggestions of organizations wait for a review.
func (o Org) PendingSuggestionCounts(ctx context.Context, orgs []ids.ID) (map[ids.ID]int, error) {
	return o.count(ctx, orgs, "eval_suggestions t", "t.query <> ''", "t.observed_count > 0", "NOT EXISTS (SELECT "+reviewOf+")")
}

func (o Org) count(ctx context.Context, orgs []ids.ID, from string, where ...string) (map[ids.ID]int, error) {
	return tallies(query[tally](ctx, o.pg, "SELECT t.org_id AS id, count(*) AS n FROM "+from+" WHERE t.org_id = $1 AND t.org_id = ANY($2)"+and(where)+" GROUP BY 1", o.id, orgs))
}
