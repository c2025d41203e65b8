package models

import "skillgraph/internal/ids"

// OrganizationCounts is how much an organization has of what is cheap to count. The rest is counted where it is asked for.
type OrganizationCounts struct {
	OrgID            ids.ID `bun:"org_id"`
	Healthy          int    `bun:"healthy"`
	Warning          int    `bun:"warning"`
	Critical         int    `bun:"critical"`
	Unknown          int    `bun:"unknown"`
	Sources          int    `bun:"sources"`
	Suites           int    `bun:"suites"`
	Entries          int    `bun:"entries"`
	RepoLinks        int    `bun:"repo_links"`
	FiringAlerts     int    `bun:"firing_alerts"`
	OpenIncidents    int    `bun:"open_incidents"`
	PendingProposals int    `bun:"pending_proposals"`
	Members          int    `bun:"members"`
}

// Skills are those of every status.
func (c *OrganizationCounts) Skills() int { return c.Healthy + c.Warning + c.Critical + c.Unknown }

// SkillsByStatus lists every status.
func (c *OrganizationCounts) SkillsByStatus() []*SkillStatusCount {
	return []*SkillStatusCount{
		{Status: SkillStatusHealthy, Count: c.Healthy},
		{Status: SkillStatusWarning, Count: c.Warning},
		{Status: SkillStatusCritical, Count: c.Critical},
		{Status: SkillStatusUnknown, Count: c.Unknown},
	}
}
