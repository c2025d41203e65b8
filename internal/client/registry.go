package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"skillgraph/internal/ids"
)

// Entry is an entry of the registry, as lists show it.
type Entry struct {
	ID                string   `json:"id"`
	Name              string   `json:"name"`
	EntryType         string   `json:"entry_type"`
	Description       string   `json:"description"`
	Visibility        string   `json:"visibility"`
	SourceRepo        *string  `json:"source_repo"`
	CurrentVersion    *Version `json:"current_version"`
	PassRate          *float64 `json:"pass_rate"`
	EvalCount         int      `json:"eval_count"`
	InstallationCount int      `json:"installation_count"`
	Organization      string   `json:"organization,omitempty"` // of a public one
}

// Version is a version of an entry; some answers have no more than the first three.
type Version struct {
	ID                string     `json:"id"`
	Version           string     `json:"version"`
	ContentHash       string     `json:"content_hash"`
	IsCurrent         bool       `json:"is_current,omitempty"`
	RolledBack        bool       `json:"rolled_back,omitempty"`
	AggregatePassRate *float64   `json:"aggregate_pass_rate,omitempty"`
	AggregateSessions int        `json:"aggregate_sessions,omitempty"`
	ChangeSummary     *string    `json:"change_summary,omitempty"`
	Source            string     `json:"source,omitempty"`
	SourceRef         *string    `json:"source_ref,omitempty"`
	SourceRepo        *string    `json:"source_repo,omitempty"`
	PushedAt          *time.Time `json:"pushed_at,omitempty"`
}

const registry = "/api/v1/registry"

type entries struct {
	Entries []Entry `json:"entries"`
}

// Entries lists the organization's own entries, newest first; more says that there are others.
func (c *Client) Entries(ctx context.Context) (list []Entry, more bool, err error) {
	return c.list(ctx, registry)
}

// PublicEntries lists those of everybody, the best matches first.
func (c *Client) PublicEntries(ctx context.Context, query string) (list []Entry, more bool, err error) {
	return c.list(ctx, registry+"/public?"+url.Values{"q": {query}}.Encode())
}

func (c *Client) list(ctx context.Context, path string) ([]Entry, bool, error) {
	var out entries
	res, err := c.rest(ctx, http.MethodGet, path, nil, &out)
	if err != nil {
		return nil, false, err
	}
	return out.Entries, res.cut(), nil
}

// own is the organization's entry of a name; nil when there is none.
func (c *Client) own(ctx context.Context, name string) (*Entry, error) {
	list, _, err := c.list(ctx, registry+"?"+url.Values{"name": {name}}.Encode())
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Find is an entry by its name, by its id, or as organization/name where it is a public one.
func (c *Client) Find(ctx context.Context, name string) (*Entry, error) {
	if org, name, public := strings.Cut(name, "/"); public {
		list, _, err := c.PublicEntries(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if e.Organization == org && e.Name == name {
				return &e, nil
			}
		}
		return nil, notFound("%s has no public entry %q: skillgraph list --public shows them", org, name)
	}
	if _, err := ids.Parse(name); err == nil {
		var out struct{ Entry Entry }
		_, err := c.rest(ctx, http.MethodGet, registry+"/"+name, nil, &out)
		return &out.Entry, err
	}
	e, err := c.own(ctx, name)
	if err == nil && e == nil {
		err = notFound("there is no entry %q in your organization: skillgraph list shows what there is, and organization/name is a public one of others", name)
	}
	return e, err
}

// Versions lists the versions of an entry, newest push first.
func (c *Client) Versions(ctx context.Context, name string) (e *Entry, list []Version, more bool, err error) {
	if e, err = c.Find(ctx, name); err != nil {
		return nil, nil, false, err
	}
	var out struct{ Versions []Version }
	res, err := c.rest(ctx, http.MethodGet, registry+"/"+e.ID+"/versions", nil, &out)
	if err != nil {
		return nil, nil, false, err
	}
	return e, out.Versions, res.cut(), nil
}

// RolledBack is what became of a rollback.
type RolledBack struct {
	Entry   Entry   `json:"entry"`
	Version Version `json:"version"`
	Reason  *string `json:"reason"`
}

// Rollback makes another version current: the one before where none is named.
func (c *Client) Rollback(ctx context.Context, name, version, reason string) (out RolledBack, err error) {
	e, err := c.Find(ctx, name)
	if err != nil {
		return out, err
	}
	in := map[string]string{}
	if version != "" {
		in["target_version"] = version
	}
	if reason != "" {
		in["reason"] = reason
	}
	_, err = c.rest(ctx, http.MethodPost, registry+"/"+e.ID+"/rollback", in, &out)
	return out, err
}

// Installed is an entry that one of the caller's devices has.
type Installed struct {
	EntryID       string    `json:"entry_id"`
	Name          string    `json:"name"`
	DeviceID      string    `json:"device_id"`
	InstallPath   *string   `json:"install_path"`
	Version       *string   `json:"version"`
	LatestVersion *string   `json:"latest_version"`
	SyncStatus    string    `json:"sync_status"`
	InstalledAt   time.Time `json:"installed_at"`
}

// Installed lists what the caller's devices have, newest first.
func (c *Client) Installed(ctx context.Context) ([]Installed, error) {
	var out struct{ Entries []Installed }
	_, err := c.rest(ctx, http.MethodGet, registry+"/installed", nil, &out)
	return out.Entries, err
}
