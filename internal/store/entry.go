package store

import (
	"context"
	"strings"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Entries are the one thing that other organizations may see: those that are public, and unlisted ones by their id. Whatever
// may show an entry of another organization says so by one of these conditions, on the entry as e or t.
const (
	visible  = "(e.org_id = $1 OR e.visibility <> 'ORG')"
	visibleT = "(t.org_id = $1 OR t.visibility <> 'ORG')"
	// ofVisible is the condition on versions, as t: the entries of our own need not be looked at.
	ofVisible = "(t.org_id = $1 OR (SELECT e.visibility <> 'ORG' FROM registry_entries e WHERE e.id = t.entry_id))"
)

// EntriesByID is the batch for every edge to an entry.
func (o Org) EntriesByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.RegistryEntry, error) {
	return batch(ctx, o, entryID, "registry_entries t WHERE "+visibleT+" AND t.id = ANY($2)", keys)
}

// EntriesOfSkills is the batch for the entries that have the names of skills.
func (o Org) EntriesOfSkills(ctx context.Context, skills []ids.ID) (map[ids.ID]*models.RegistryEntry, error) {
	return batch(ctx, o, func(e *models.RegistryEntry) ids.ID { return e.SkillID }, "registry_entries t WHERE t.org_id = $1 AND t.skill_id = ANY($2)", skills)
}

func entryID(e *models.RegistryEntry) ids.ID { return e.ID }

// ownEntry is an entry that the organization may change, locked for as long as the transaction lasts: what becomes of its
// versions is decided one after the other. Devices, which only refer to it, are not held up by that, and do not hold it up.
func (o Org) ownEntry(ctx context.Context, id ids.ID) (*models.RegistryEntry, error) {
	return queryOne[models.RegistryEntry](ctx, o.pg, ids.Entry, id, "SELECT "+columns[models.RegistryEntry]()+" FROM registry_entries t WHERE t.org_id = $1 AND t.id = $2 FOR NO KEY UPDATE", o.id, id)
}

var entryOrders = map[models.EntryOrder]order[models.RegistryEntry]{
	models.EntryOrderCreatedAt: newest(entryID),
	models.EntryOrderUpdatedAt: {
		name: "updated", columns: []string{"t.updated_at"}, types: []string{"timestamptz"}, desc: true, id: entryID,
		key: func(e *models.RegistryEntry) []string { return []string{timeKey(e.UpdatedAt)} },
	},
	models.EntryOrderName: {
		name: "name", columns: []string{"t.name"}, types: []string{"text"}, id: entryID,
		key: func(e *models.RegistryEntry) []string { return []string{e.Name} },
	},
}

func entryListing(parent string, f models.EntryFilter, by models.EntryOrder) listing[models.RegistryEntry] {
	l := listing[models.RegistryEntry]{from: "registry_entries t", parent: parent, order: entryOrders[by]}
	if name := f.Name.Value(); name != nil {
		l.filter("t.name = ?", *name)
	}
	if name := f.NameContains.Value(); name != nil {
		l.filter("t.name ILIKE ?", contains(*name))
	}
	if kind := f.EntryType.Value(); kind != nil {
		l.filter("t.entry_type = ?", *kind)
	}
	if v := f.Visibility.Value(); v != nil {
		l.filter("t.visibility = ?", *v)
	}
	return l
}

// Entries lists the organization's own entries.
func (o Org) Entries(ctx context.Context, f models.EntryFilter, by models.EntryOrder, w models.Window) (*models.RegistryEntryConnection, error) {
	return page(ctx, o, entryListing("t.org_id", f, by), w)
}

// EntriesBy lists the entries that members made.
func (o Org) EntriesBy(ctx context.Context, users []ids.ID, in models.EntryList) (map[ids.ID]*models.RegistryEntryConnection, error) {
	return pages(ctx, o, entryListing("t.created_by", in.Filter(), in.Order), users, in.Window)
}

// ranked is an entry with how well it matches what somebody looks for.
type ranked struct {
	models.RegistryEntry
	Rank int `bun:"rank"`
}

// PublicEntries lists the public entries of all organizations: the best matches first or, without words, the last changed.
func (o Org) PublicEntries(ctx context.Context, words string, w models.Window) (*models.RegistryEntryConnection, error) {
	if words = strings.TrimSpace(words); words == "" {
		return page(ctx, o, listing[models.RegistryEntry]{
			from: "registry_entries t", scope: "t.visibility = 'PUBLIC'", parent: "$1::uuid", order: entryOrders[models.EntryOrderUpdatedAt],
		}, w)
	}
	l := listing[ranked]{
		// What is called so, then what has it in its name or sounds like it, then what tells of it. Names are short, so that ranking
		// takes no time, and the conditions are those of two indexes.
		from: `(SELECT e.*, round(1e6 * ((e.name = $3)::int + (lower(e.name) = lower($3))::int + (e.name ILIKE $4)::int + similarity(e.name, $3) + word_similarity($3, e.name)
				+ (e.description ILIKE $4)::int / 10.0))::int AS rank
			FROM registry_entries e WHERE e.visibility = 'PUBLIC' AND ((e.name || ' ' || e.description) ILIKE $4 OR $3 <% (e.name || ' ' || e.description)
				OR e.name % $3 AND similarity(e.name, $3) > 0.4)) t`,
		scope: "t.visibility = 'PUBLIC'", parent: "$1::uuid", args: []any{words, contains(words)},
		order: order[ranked]{
			name: "rank", columns: []string{"t.rank"}, types: []string{"int"}, desc: true,
			key: func(r *ranked) []string { return []string{itoa(r.Rank)} },
			id:  func(r *ranked) ids.ID { return r.ID },
		},
	}
	found, err := page(ctx, o, l, w)
	if err != nil {
		return nil, err
	}
	return models.MapConnection(found, func(r *ranked) *models.RegistryEntry { return &r.RegistryEntry }), nil
}

// OrganizationNames is the batch for the names of the organizations of entries.
func (o Org) OrganizationNames(ctx context.Context, entries []ids.ID) (map[ids.ID]string, error) {
	type row struct {
		ID   ids.ID `bun:"id"`
		Name string `bun:"name"`
	}
	rows, err := query[row](ctx, o.pg, "SELECT e.id, g.name FROM registry_entries e JOIN organizations g ON g.id = e.org_id WHERE "+visible+" AND e.id = ANY($2)", o.id, entries)
	out := make(map[ids.ID]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, err
}

// EntryEvidenceOf is the batch for what telemetry says of the skills of entries.
func (o Org) EntryEvidenceOf(ctx context.Context, entries []ids.ID) (map[ids.ID]*models.EntryEvidence, error) {
	rows, err := query[models.EntryEvidence](ctx, o.pg, `SELECT e.id AS entry_id, s.pass_rate, s.recent_graded, s.graded_sessions FROM registry_entries e
		JOIN skills s ON s.org_id = e.org_id AND s.id = e.skill_id WHERE `+visible+" AND e.id = ANY($2)", o.id, entries)
	return byID(rows, func(e *models.EntryEvidence) ids.ID { return e.EntryID }), err
}

// UpdateEntry changes what an entry says of itself; a change that changes nothing leaves no trace.
func (o Org) UpdateEntry(ctx context.Context, id ids.ID, in models.UpdateEntryInput) (*models.RegistryEntry, error) {
	return inTx(ctx, o, func(o Org) (*models.RegistryEntry, error) {
		e, err := o.ownEntry(ctx, id)
		if err != nil {
			return nil, err
		}
		changed, err := in.Apply(e)
		if err != nil || !changed {
			return e, err
		}
		e.UpdatedAt = o.now()
		if _, err := exec(ctx, o.pg, "UPDATE registry_entries SET description = $3, visibility = $4, source_repo = $5, updated_at = $6 WHERE org_id = $1 AND id = $2",
			o.id, id, e.Description, e.Visibility, e.SourceRepo, e.UpdatedAt); err != nil {
			return nil, err
		}
		return e, o.event(ctx, "entry.updated", id, map[string]any{"name": e.Name, "visibility": e.Visibility.Wire()})
	})
}

// DeleteEntry deletes an entry with its versions, releases and installations.
func (o Org) DeleteEntry(ctx context.Context, id ids.ID) error {
	return o.tx(ctx, func(o Org) error {
		e, err := o.ownEntry(ctx, id)
		if err != nil {
			return err
		}
		if _, err := exec(ctx, o.pg, "DELETE FROM registry_entries WHERE org_id = $1 AND id = $2", o.id, id); err != nil {
			return err
		}
		if err := o.setBaseline(ctx, e.SkillID, nil); err != nil {
			return err
		}
		return o.event(ctx, "entry.deleted", id, map[string]any{"name": e.Name})
	})
}

// setBaseline tells a skill what its pass rate is compared with from now on.
func (o Org) setBaseline(ctx context.Context, skill ids.ID, baseline *float64) error {
	judged, err := query[models.Skill](ctx, o.pg, "UPDATE skills t SET baseline = $3 WHERE t.org_id = $1 AND t.id = $2 RETURNING "+columns[models.Skill](), o.id, skill, baseline)
	if err != nil {
		return err
	}
	return o.judge(ctx, judged)
}
