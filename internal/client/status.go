package client

import (
	"context"
	"strings"
	"time"
)

// Skill is how a skill is doing, and who has which version of it.
type Skill struct {
	Name           string      `json:"name"`
	Status         string      `json:"status"`
	PassRate       *float64    `json:"pass_rate"`
	GradedSessions int         `json:"graded_sessions"`
	TriggerRate    *float64    `json:"trigger_rate"`
	UniqueSessions int         `json:"unique_sessions"`
	LastSeenAt     *time.Time  `json:"last_seen_at"`
	CurrentVersion *string     `json:"current_version"`
	Installed      []Installed `json:"installed"` // on the caller's devices
}

// skillNode is a skill as the graph has it.
type skillNode struct {
	Name, Status                   string
	PassRate, TriggerRate          *float64
	GradedSessions, UniqueSessions int
	LastSeenAt                     *time.Time
	RegistryEntry                  *struct {
		CurrentVersion *struct{ Version string }
	}
}

const skillFields = `fragment Fields on Skill { name status passRate gradedSessions triggerRate uniqueSessions lastSeenAt registryEntry { currentVersion { version } } }`

// Status tells of one skill or, without a name, of all, last seen first.
func (c *Client) Status(ctx context.Context, name string) ([]Skill, error) {
	nodes, err := c.skills(ctx, name)
	if err != nil {
		return nil, err
	}
	installed, err := c.Installed(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Skill, 0, len(nodes))
	for _, n := range nodes {
		s := Skill{
			Name: n.Name, Status: strings.ToLower(n.Status), PassRate: n.PassRate, GradedSessions: n.GradedSessions, TriggerRate: n.TriggerRate,
			UniqueSessions: n.UniqueSessions, LastSeenAt: n.LastSeenAt, Installed: []Installed{},
		}
		if e := n.RegistryEntry; e != nil && e.CurrentVersion != nil {
			s.CurrentVersion = &e.CurrentVersion.Version
		}
		for _, i := range installed {
			if i.Name == n.Name {
				s.Installed = append(s.Installed, i)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func (c *Client) skills(ctx context.Context, name string) ([]skillNode, error) {
	if name != "" {
		var one struct{ Skill skillNode }
		err := c.query(ctx, `query($name: String!) { skill(idOrName: $name) { ...Fields } } `+skillFields, map[string]any{"name": name}, &one)
		return []skillNode{one.Skill}, err
	}
	var all []skillNode
	var after *string
	for {
		var page struct {
			Skills struct {
				Nodes    []skillNode
				PageInfo struct {
					HasNextPage bool
					EndCursor   *string
				}
			}
		}
		err := c.query(ctx, `query($after: String) { skills(first: 100, after: $after) { nodes { ...Fields } pageInfo { hasNextPage endCursor } } } `+skillFields, map[string]any{"after": after}, &page)
		if err != nil {
			return nil, err
		}
		all, after = append(all, page.Skills.Nodes...), page.Skills.PageInfo.EndCursor
		if !page.Skills.PageInfo.HasNextPage {
			return all, nil
		}
		c.progress("reading, %d skills so far", len(all))
	}
}
