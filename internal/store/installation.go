package store

import (
	"context"
	"strings"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// installations are those of visible entries, as t, with whether each has the current version.
const installations = `(SELECT i.*, CASE
		WHEN v.revoked_at IS NOT NULL THEN 'OUTDATED'
		WHEN v.id IS NULL OR e.current_version_id IS NULL THEN 'UNKNOWN'
		WHEN v.id = e.current_version_id THEN 'UP_TO_DATE'
		ELSE 'OUTDATED' END AS sync_status
	FROM registry_installations i JOIN registry_entries e ON e.id = i.entry_id LEFT JOIN registry_versions v ON v.id = i.version_id
	WHERE i.org_id = $1 AND ` + visible + `) t`

func installationID(i *models.Installation) ids.ID { return i.ID }

// InstallationsOf lists the devices of the organization's present members that have entries, newest first.
func (o Org) InstallationsOf(ctx context.Context, entries []ids.ID, w models.Window) (map[ids.ID]*models.InstallationConnection, error) {
	return pages(ctx, o, devicesOf("t.entry_id"), entries, w)
}

// InstallationsOfVersions lists the devices of the organization's present members that have versions, newest first.
func (o Org) InstallationsOfVersions(ctx context.Context, versions []ids.ID, w models.Window) (map[ids.ID]*models.InstallationConnection, error) {
	return pages(ctx, o, devicesOf("t.version_id"), versions, w)
}

// InstallationsBy lists the devices of present members, newest first.
func (o Org) InstallationsBy(ctx context.Context, users []ids.ID, w models.Window) (map[ids.ID]*models.InstallationConnection, error) {
	return pages(ctx, o, devicesOf("t.user_id"), users, w)
}

func devicesOf(parent string) listing[models.Installation] {
	l := listing[models.Installation]{from: installations, parent: parent, order: newest(installationID)}
	l.filter("EXISTS (SELECT FROM members m WHERE m.org_id = t.org_id AND m.user_id = t.user_id AND m.removed_at IS NULL)")
	return l
}

// Installed lists what the caller has installed, newest first.
func (o Org) Installed(ctx context.Context, w models.Window) (*models.InstallationConnection, error) {
	l := listing[models.Installation]{from: installations, parent: "t.org_id", order: newest(installationID)}
	l.filter("t.user_id = ?", o.actor)
	return page(ctx, o, l, w)
}

// InstallationsByID is the batch for nodes: everybody's own. Those of others are listed with their entry, for who may.
func (o Org) InstallationsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Installation, error) {
	return batch(ctx, o, installationID, installations+" WHERE t.id = ANY($2) AND t.user_id = $3", keys, o.actor)
}

type tally struct {
	ID ids.ID `bun:"id"`
	N  int    `bun:"n"`
}

func tallies(rows []*tally, err error) (map[ids.ID]int, error) {
	out := make(map[ids.ID]int, len(rows))
	for _, r := range rows {
		out[r.ID] = r.N
	}
	return out, err
}

// InstallationCounts is the batch for how many devices, of all organizations, have entries; those that none has are left out.
func (o Org) InstallationCounts(ctx context.Context, entries []ids.ID) (map[ids.ID]int, error) {
	return tallies(query[tally](ctx, o.pg, `SELECT i.entry_id AS id, count(*) AS n FROM registry_installations i JOIN registry_entries e ON e.id = i.entry_id
		WHERE `+visible+` AND i.entry_id = ANY($2) GROUP BY 1`, o.id, entries))
}

// VersionInstallationCounts is the batch for how many devices, of all organizations, have versions; those that none has are left out.
func (o Org) VersionInstallationCounts(ctx context.Context, versions []ids.ID) (map[ids.ID]int, error) {
	return tallies(query[tally](ctx, o.pg, `SELECT i.version_id AS id, count(*) AS n FROM registry_installations i JOIN registry_entries e ON e.id = i.entry_id
		WHERE `+visible+` AND i.version_id = ANY($2) GROUP BY 1`, o.id, versions))
}

// Install records that a device of the caller's has the current version of a visible entry.
func (o Org) Install(ctx context.Context, entry ids.ID, in models.InstallEntryInput) (i *models.Installation, created bool, err error) {
	if err := in.Validate(); err != nil {
		return nil, false, err
	}
	err = o.tx(ctx, func(o Org) error {
		e, err := queryOne[models.RegistryEntry](ctx, o.pg, ids.Entry, entry, "SELECT "+columns[models.RegistryEntry]()+" FROM registry_entries t WHERE "+visibleT+" AND t.id = $2 FOR KEY SHARE", o.id, entry)
		if err != nil {
			return err
		}
		if e.CurrentVersionID == nil {
			return errs.New(errs.Conflict, "%s has no current version to install", e.Name)
		}
		made := ids.New(ids.Installation, o.now())
		found, err := query[tally](ctx, o.pg, `INSERT INTO registry_installations AS t (org_id, id, entry_id, user_id, device_id, install_path, version_id, content_hash, installed_at)
			SELECT $1, $2, v.entry_id, $3, $4, $5, v.id, v.content_hash, $7 FROM registry_versions v WHERE v.id = $6
			ON CONFLICT (org_id, user_id, entry_id, device_id) DO UPDATE SET install_path = coalesce(excluded.install_path, t.install_path), version_id = excluded.version_id, content_hash = excluded.content_hash
			RETURNING t.id, 1 AS n`, o.id, made, o.actor, in.DeviceID, in.InstallPath.Value(), e.CurrentVersionID, o.now())
		if err != nil {
			return err
		}
		saved, err := o.InstallationsByID(ctx, []ids.ID{found[0].ID})
		if err != nil {
			return err
		}
		i, created = saved[found[0].ID], found[0].ID == made
		return o.event(ctx, "entry.installed", i.ID, map[string]any{"entry_id": e.ID, "name": e.Name, "version_id": e.CurrentVersionID, "device_id": in.DeviceID})
	})
	return i, created, err
}

// held is what a device has of an entry, as h, and what it should have, as c.
const held = `SELECT e.id AS entry_id, e.name, c.id AS current_id, c.version AS latest_version, c.content_hash AS latest_content_hash,
		h.id AS held_id, h.version AS current_version, h.revoked_at IS NOT NULL AS revoked, h.revoke_reason AS reason`

// SyncCheck says what to do about the caller's recorded installations, on one device or on all.
func (o Org) SyncCheck(ctx context.Context, device *string) ([]*models.SyncEntry, error) {
	if err := models.CheckDevice(device); err != nil {
		return nil, err
	}
	return query[models.SyncEntry](ctx, o.pg, held+` FROM (SELECT DISTINCT i.entry_id, i.version_id FROM registry_installations i WHERE i.org_id = $1 AND i.user_id = $2 AND ($3::text IS NULL OR i.device_id = $3)) i
		JOIN registry_entries e ON e.id = i.entry_id AND `+visible+`
		LEFT JOIN registry_versions c ON c.id = e.current_version_id LEFT JOIN registry_versions h ON h.id = i.version_id
		ORDER BY e.name, e.id, h.number LIMIT $4`, o.id, o.actor, device, models.MaxSync)
}

// named is the version of e that a device calls s.hash. Where several have the same bytes, or the same tag, it is the current one,
// else the newest.
var named = `SELECT * FROM (
		SELECT v.* FROM registry_versions v WHERE v.id = e.current_version_id AND s.hash IN (v.content_hash, v.client_tag)
		UNION ALL ` + newestBy("content_hash") + ` UNION ALL ` + newestBy("client_tag") + `
	) v ORDER BY v.id = e.current_version_id DESC, v.number DESC LIMIT 1`

// newestBy looks into the index where the newest would be, and whether it is there: the planner must not think of reading the
// entry's versions one by one, of which somebody may have made any number.
func newestBy(column string) string {
	return strings.ReplaceAll(`SELECT * FROM (SELECT v.* FROM registry_versions v WHERE v.<c> IS NOT NULL AND (v.<c>, v.entry_id, v.number) <= (s.hash, e.id, 2147483647)
		ORDER BY v.<c> DESC, v.entry_id DESC, v.number DESC LIMIT 1) v WHERE v.<c> = s.hash AND v.entry_id = e.id`, "<c>", column)
}

// Sync says what to do about what a device has and, where the device is recorded, remembers it.
func (o Org) Sync(ctx context.Context, in []*models.SyncInput, device *string) ([]*models.SyncEntry, error) {
	if err := models.CheckSync(in); err != nil {
		return nil, err
	}
	if err := models.CheckDevice(device); err != nil {
		return nil, err
	}
	entries, hashes := make([]ids.ID, len(in)), make([]string, len(in))
	for i, s := range in {
		entries[i], hashes[i] = s.EntryID, models.NormalHash(s.CurrentVersionHash)
	}
	return inTx(ctx, o, func(o Org) ([]*models.SyncEntry, error) {
		var records []ids.ID
		if device != nil {
			var err error
			if records, err = o.lockDevice(ctx, *device, entries); err != nil {
				return nil, err
			}
		}
		out, err := query[models.SyncEntry](ctx, o.pg, held+`, s.hash AS held_hash FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS s(entry_id, hash, n)
			JOIN registry_entries e ON e.id = s.entry_id AND `+visible+`
			LEFT JOIN registry_versions c ON c.id = e.current_version_id
			LEFT JOIN LATERAL (`+named+`) h ON true
			ORDER BY s.n`, o.id, entries, hashes)
		if err != nil || device == nil {
			return out, err
		}
		return out, o.remember(ctx, *device, records, out)
	})
}

// lockDevice keeps the entries that a device has from being deleted, and its records from being changed, until they are: each
// entry before its record, as everybody does, and one entry after the other. It returns the records.
func (o Org) lockDevice(ctx context.Context, device string, entries []ids.ID) ([]ids.ID, error) {
	type row struct {
		ID ids.ID `bun:"id"`
	}
	rows, err := query[row](ctx, o.pg, `SELECT t.id FROM registry_installations t JOIN registry_entries e ON e.id = t.entry_id
		WHERE t.org_id = $1 AND t.user_id = $2 AND t.device_id = $3 AND t.entry_id = ANY($4) ORDER BY e.id FOR KEY SHARE OF e FOR UPDATE OF t`, o.id, o.actor, device, entries)
	return column(rows, func(r *row) ids.ID { return r.ID }), err
}

// remember keeps what a recorded device says it has. A record that was made after the others were locked is left for the next
// time: locking it now, out of their order, could be a deadlock.
func (o Org) remember(ctx context.Context, device string, records []ids.ID, has []*models.SyncEntry) error {
	var entries []ids.ID
	var versions []*ids.ID
	var hashes []*string
	for _, s := range has {
		entries, versions, hashes = append(entries, s.EntryID), append(versions, s.HeldID), append(hashes, s.HasHash())
	}
	type row struct {
		ID        ids.ID  `bun:"id"`
		EntryID   ids.ID  `bun:"entry_id"`
		VersionID *ids.ID `bun:"version_id"`
		Moved     bool    `bun:"moved"`
	}
	rows, err := query[row](ctx, o.pg, `UPDATE registry_installations t SET version_id = s.version_id, content_hash = s.hash, last_synced_at = $6
		FROM (SELECT DISTINCT ON (s.entry_id) s.* FROM unnest($3::uuid[], $4::uuid[], $5::text[]) WITH ORDINALITY AS s(entry_id, version_id, hash, n) ORDER BY s.entry_id, s.n) s
		JOIN registry_installations w ON w.org_id = $1 AND w.id = ANY($2) AND w.entry_id = s.entry_id
		WHERE t.org_id = $1 AND t.id = w.id
		RETURNING t.id, t.entry_id, t.version_id, (w.version_id, w.content_hash) IS DISTINCT FROM (t.version_id, t.content_hash) AS moved`, o.id, records, entries, versions, hashes, o.now())
	if err != nil {
		return err
	}
	names := map[ids.ID]string{}
	for _, s := range has {
		names[s.EntryID] = s.Name
	}
	for _, r := range rows { // a device asks every few minutes, and mostly has what it had
		if r.Moved {
			if err := o.event(ctx, "entry.synced", r.ID, map[string]any{"entry_id": r.EntryID, "name": names[r.EntryID], "version_id": r.VersionID, "device_id": device}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Download is a version that a signed link names. The link is the permission: it is asked for on behalf of nobody.
func (s *Store) Download(ctx context.Context, version ids.ID) (*models.Download, error) {
	return queryOne[models.Download](ctx, s.pool, ids.Version, version, `SELECT e.name, t.version, t.content_hash FROM registry_versions t
		JOIN registry_entries e ON e.id = t.entry_id WHERE t.id = $1 AND t.live`, version)
}
