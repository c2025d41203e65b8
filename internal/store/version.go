package store

import (
	"context"
	"encoding/json"
	"strconv"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func itoa(n int) string { return strconv.Itoa(n) }

func versionID(v *models.RegistryVersion) ids.ID { return v.ID }

// VersionsByID is the batch for every edge to a version.
func (o Org) VersionsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.RegistryVersion, error) {
	return batch(ctx, o, versionID, "registry_versions t WHERE "+ofVisible+" AND t.id = ANY($2)", keys)
}

// ownVersion fails with NOT_FOUND for a registry version that is not the organization's.
func (o Org) ownVersion(ctx context.Context, id ids.ID) error {
	_, err := queryOne[struct{}](ctx, o.pg, ids.Version, id, "SELECT t.id FROM registry_versions t WHERE t.org_id = $1 AND t.id = $2", o.id, id)
	return err
}

// VersionNamed is the batch for one version of entries, by its name.
func (o Org) VersionNamed(ctx context.Context, entries []ids.ID, version string) (map[ids.ID]*models.RegistryVersion, error) {
	return batch(ctx, o, func(v *models.RegistryVersion) ids.ID { return v.EntryID }, "registry_versions t WHERE "+ofVisible+" AND t.entry_id = ANY($2) AND t.version = $3", entries, version)
}

// EntryVersion is one version of an entry, by its name; nil when there is none.
func (o Org) EntryVersion(ctx context.Context, entry ids.ID, version string) (*models.RegistryVersion, error) {
	return o.versionNamed(ctx, entry, version)
}

// VersionNames are those of the names that an entry has versions of.
func (o Org) VersionNames(ctx context.Context, entry ids.ID, names []string) (map[string]bool, error) {
	type row struct {
		Version string `bun:"version"`
	}
	rows, err := query[row](ctx, o.pg, "SELECT t.version FROM registry_versions t WHERE t.org_id = $1 AND t.entry_id = $2 AND t.version = ANY($3)", o.id, entry, names)
	out := make(map[string]bool, len(rows))
	for _, r := range rows {
		out[r.Version] = true
	}
	return out, err
}

// VersionBefore is the version that was pushed before another; nil for the first.
func (o Org) VersionBefore(ctx context.Context, v *models.RegistryVersion) (*models.RegistryVersion, error) {
	found, err := o.PreviousVersions(ctx, []ids.ID{v.ID})
	return found[v.ID], err
}

var versionOrders = map[models.VersionOrder]order[models.RegistryVersion]{
	models.VersionOrderPushedAt: {
		name: "pushed", columns: []string{"t.number"}, types: []string{"int"}, unique: true, desc: true, id: versionID,
		key: func(v *models.RegistryVersion) []string { return []string{itoa(v.Number)} },
	},
	models.VersionOrderVersion: {
		name: "version", columns: []string{"t.precedence", "t.number"}, types: []string{"text", "int"}, unique: true, desc: true, id: versionID,
		key: func(v *models.RegistryVersion) []string { return []string{v.Precedence, itoa(v.Number)} },
	},
}

// VersionsOf lists the versions of entries.
func (o Org) VersionsOf(ctx context.Context, entries []ids.ID, in models.VersionList) (map[ids.ID]*models.RegistryVersionConnection, error) {
	return pages(ctx, o, listing[models.RegistryVersion]{
		from: "registry_versions t", scope: ofVisible, parent: "t.entry_id", order: versionOrders[in.OrderBy],
	}, entries, in.Window)
}

// VersionsBy lists the versions that members pushed, newest first.
func (o Org) VersionsBy(ctx context.Context, users []ids.ID, w models.Window) (map[ids.ID]*models.RegistryVersionConnection, error) {
	return pages(ctx, o, listing[models.RegistryVersion]{from: "registry_versions t", parent: "t.pushed_by", order: newest(versionID)}, users, w)
}

// PreviousVersions is the batch for the versions that were pushed before others.
func (o Org) PreviousVersions(ctx context.Context, versions []ids.ID) (map[ids.ID]*models.RegistryVersion, error) {
	return childOf(query[child[models.RegistryVersion]](ctx, o.pg, `SELECT k.id AS parent_key, n.* FROM registry_versions k CROSS JOIN LATERAL (
			SELECT `+columns[models.RegistryVersion]()+" FROM registry_versions t WHERE "+ofVisible+` AND t.entry_id = k.entry_id AND t.number < k.number ORDER BY t.number DESC LIMIT 1
		) n WHERE k.id = ANY($2)`, o.id, versions))
}

// maxManifests bounds the lists of files that are read at once: an entry may have a thousand versions of ten thousand files.
const maxManifests = 64 << 20

// ManifestsOf is the batch for the files of versions, as JSON.
func (o Org) ManifestsOf(ctx context.Context, versions []ids.ID) (map[ids.ID]models.JSON, error) {
	type row struct {
		ID    ids.ID      `bun:"id"`
		Files models.JSON `bun:"files"`
	}
	rows, err := query[row](ctx, o.pg, "SELECT t.id, CASE WHEN sum(t.files_size) OVER () <= $3 THEN t.files END AS files FROM registry_versions t WHERE "+ofVisible+" AND t.id = ANY($2)", o.id, versions, maxManifests)
	out := make(map[ids.ID]models.JSON, len(rows))
	for _, r := range rows {
		if r.Files == nil {
			return nil, errs.New(errs.TooComplex, "The lists of files of so many versions are larger than %d MiB: ask for fewer at once", maxManifests>>20)
		}
		out[r.ID] = r.Files
	}
	return out, err
}

// VersionFilesOf is the batch for the files of versions.
func (o Org) VersionFilesOf(ctx context.Context, versions []ids.ID) (map[ids.ID][]*models.FileInfo, error) {
	raw, err := o.ManifestsOf(ctx, versions)
	out := make(map[ids.ID][]*models.FileInfo, len(raw))
	for id, files := range raw {
		var list []*models.FileInfo
		if err := json.Unmarshal(files, &list); err != nil {
			return nil, err
		}
		out[id] = list
	}
	return out, err
}

// QualityOf is the batch for what telemetry says of versions.
func (o Org) QualityOf(ctx context.Context, versions []ids.ID) (map[ids.ID]*models.VersionQuality, error) {
	rows, err := query[models.VersionQuality](ctx, o.pg, `SELECT t.id AS version_id, q.* FROM registry_versions t JOIN registry_entries e ON e.id = t.entry_id
		CROSS JOIN LATERAL (SELECT coalesce(sum(b.sessions), 0)::bigint AS sessions, coalesce(sum(b.triggered_sessions), 0)::bigint AS triggered_sessions,
			coalesce(sum(b.triggers), 0)::bigint AS triggers, coalesce(sum(b.scored), 0)::bigint AS scored, coalesce(sum(b.confidence), 0)::bigint AS confidence,
			coalesce(sum(b.graded), 0)::bigint AS graded, coalesce(sum(b.passed), 0)::bigint AS passed, coalesce(sum(b.rate), 0)::bigint AS rate
			FROM skill_breakdowns b WHERE b.org_id = t.org_id AND b.skill_id = e.skill_id AND b.dimension = 'VERSION' AND b.value = ANY(t.hashes)) q
		WHERE `+visible+` AND t.id = ANY($2)`, o.id, versions)
	return byID(rows, func(q *models.VersionQuality) ids.ID { return q.VersionID }), err
}

// ReleasesOf lists what was current in entries, newest first. It is the business of their own organization alone.
func (o Org) ReleasesOf(ctx context.Context, entries []ids.ID, w models.Window) (map[ids.ID]*models.ReleaseConnection, error) {
	return pages(ctx, o, listing[models.Release]{
		from: "registry_releases t", parent: "t.entry_id",
		order: order[models.Release]{
			name: "number", columns: []string{"t.number"}, types: []string{"bigint"}, desc: true,
			key: func(r *models.Release) []string { return []string{itoa(r.Number)} },
			id:  func(r *models.Release) ids.ID { return r.ID },
		},
	}, entries, w)
}

// ReleasesByID is the batch for nodes.
func (o Org) ReleasesByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Release, error) {
	return batch(ctx, o, func(r *models.Release) ids.ID { return r.ID }, "registry_releases t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}
