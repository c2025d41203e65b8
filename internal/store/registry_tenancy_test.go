package store_test

import (
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// shelf is what an organization has in the registry.
type shelf struct {
	visibility                               models.Visibility
	entry, skill                             ids.ID
	first, current                           ids.ID // versions 1.0.0 and 1.1.0
	release, installation                    ids.ID
	firstHash, currentHash, device, fullName string
}

// shelved publishes an entry with two versions, of which telemetry tells, and installs it.
func (w world) shelved(t *testing.T, org store.Org, name string, visibility models.Visibility) shelf {
	t.Helper()
	e := newEntry(name)
	e.Visibility, e.Description = visibility, "the words of "+name
	made, err := w.create(t.Context(), org, e, newVersion("1.0.0"), name+" 1.0.0")
	require.NoError(t, err)
	first, current := made.Version, w.version(t, org, made.Entry, "1.1.0")
	at := time.Now().Add(-time.Hour)
	_, err = org.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, at), Canonical: models.Canonical{
		Sessions:    []models.SessionRecord{{SessionID: name}},
		Invocations: []models.InvocationRecord{{InvocationID: name, SessionID: name, SkillName: name, OccurredAt: &at, Triggered: new(true), VersionHash: &current.ContentHash}},
		Gradings:    []models.GradingRecord{{GradingID: name, SessionID: name, SkillName: name, GradedAt: &at, PassRate: new(0.5)}},
	}})
	require.NoError(t, err)
	i, created, err := org.Install(t.Context(), made.Entry.ID, models.InstallEntryInput{DeviceID: "laptop", InstallPath: set(new("/skills"))})
	require.NoError(t, err)
	require.True(t, created)
	return shelf{
		visibility: visibility, entry: made.Entry.ID, skill: made.Entry.SkillID, first: first.ID, current: current.ID,
		release: releases(t, org, made.Entry.ID)[0].ID, installation: i.ID, firstHash: first.ContentHash, currentHash: current.ContentHash, device: "laptop", fullName: name,
	}
}

// shelving is the part of the table of tenancy that is about the registry: the other organization has an entry for itself.
var shelving = map[string]func(t *testing.T, o store.Org, f foreign){
	"EntriesByID":       func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.EntriesByID, f.entry) },
	"OrganizationNames": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.OrganizationNames, f.entry) },
	"EntryEvidenceOf":   func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.EntryEvidenceOf, f.entry) },
	"VersionsByID":      func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.VersionsByID, f.current) },
	"ManifestsOf":       func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ManifestsOf, f.current) },
	"VersionFilesOf":    func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.VersionFilesOf, f.current) },
	"QualityOf":         func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.QualityOf, f.current) },
	"InstallationCounts": func(t *testing.T, o store.Org, f foreign) {
		requireNone(t, o.InstallationCounts, f.entry)
	},
	"VersionInstallationCounts": func(t *testing.T, o store.Org, f foreign) {
		requireNone(t, o.VersionInstallationCounts, f.current)
	},
	"VersionNamed": func(t *testing.T, o store.Org, f foreign) {
		found, err := o.VersionNamed(t.Context(), []ids.ID{f.entry}, "1.1.0")
		require.NoError(t, err)
		require.Empty(t, found)
	},
	"VersionBefore": func(t *testing.T, o store.Org, f foreign) {
		before, err := o.VersionBefore(t.Context(), &models.RegistryVersion{ID: f.current, EntryID: f.entry, Number: 2})
		require.NoError(t, err)
		require.Nil(t, before)
	},
	"VersionsOf": func(t *testing.T, o store.Org, f foreign) {
		for _, by := range models.AllVersionOrder {
			pages, err := o.VersionsOf(t.Context(), []ids.ID{f.entry}, models.VersionList{Window: everything, OrderBy: by})
			requireEmptyPage(t, pages[f.entry], err)
		}
	},
	"Entries": func(t *testing.T, o store.Org, f foreign) {
		for _, filter := range []models.EntryFilter{{}, {Name: set(&f.fullName)}, {NameContains: set(&f.fullName)}, {Visibility: set(&f.visibility)}} {
			page, err := o.Entries(t.Context(), filter, models.EntryOrderCreatedAt, everything)
			requireEmptyPage(t, page, err)
		}
	},
	"PublicEntries": func(t *testing.T, o store.Org, f foreign) {
		for _, words := range []string{"", f.fullName, "words"} {
			page, err := o.PublicEntries(t.Context(), words, everything)
			requireEmptyPage(t, page, err)
		}
	},
	"Install": func(t *testing.T, o store.Org, f foreign) {
		_, _, err := o.Install(t.Context(), f.entry, models.InstallEntryInput{DeviceID: f.device})
		requireCode(t, errs.NotFound, err)
	},
	"Sync": func(t *testing.T, o store.Org, f foreign) {
		for _, device := range []*string{nil, &f.device} {
			got, err := o.Sync(t.Context(), []*models.SyncInput{{EntryID: f.entry, CurrentVersionHash: "none"}, {EntryID: f.entry, CurrentVersionHash: f.currentHash}}, device)
			require.NoError(t, err)
			require.Empty(t, got)
		}
	},
}

// shut are the verbs that are the owner's alone, however visible the entry is.
var shut = map[string]func(t *testing.T, o store.Org, f foreign){
	"EntriesOfSkills":   func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.EntriesOfSkills, f.shelf.skill) },
	"ReleasesByID":      func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ReleasesByID, f.release) },
	"InstallationsByID": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.InstallationsByID, f.installation) },
	"ReleasesOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.ReleasesOf(t.Context(), []ids.ID{f.entry}, everything)
		requireEmptyPage(t, pages[f.entry], err)
	},
	"InstallationsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.InstallationsOf(t.Context(), []ids.ID{f.entry}, everything)
		requireEmptyPage(t, pages[f.entry], err)
	},
	"Installed": func(t *testing.T, o store.Org, _ foreign) {
		page, err := o.Installed(t.Context(), everything)
		requireEmptyPage(t, page, err)
	},
	"SyncCheck": func(t *testing.T, o store.Org, f foreign) {
		for _, device := range []*string{nil, &f.device} {
			got, err := o.SyncCheck(t.Context(), device)
			require.NoError(t, err)
			require.Empty(t, got)
		}
	},
	"UpdateEntry": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.UpdateEntry(t.Context(), f.entry, models.UpdateEntryInput{Description: set(new("mine"))})
		requireCode(t, errs.NotFound, err)
	},
	"DeleteEntry": func(t *testing.T, o store.Org, f foreign) {
		requireCode(t, errs.NotFound, o.DeleteEntry(t.Context(), f.entry))
	},
	"MayPush": func(t *testing.T, o store.Org, f foreign) {
		requireCode(t, errs.NotFound, o.MayPush(t.Context(), f.entry, newVersion("2.0.0")))
	},
	"PushVersion": func(t *testing.T, o store.Org, f foreign) { // not even what is there already
		for _, version := range []string{"2.0.0", "1.1.0"} {
			_, err := o.PushVersion(t.Context(), f.entry, newVersion(version), &models.RegistryVersion{Version: version, ContentHash: f.currentHash}, nil)
			requireCode(t, errs.NotFound, err)
		}
	},
	"Rollback": func(t *testing.T, o store.Org, f foreign) {
		for _, target := range []*string{nil, new("1.0.0"), new("1.1.0"), new("7")} {
			_, err := o.Rollback(t.Context(), f.entry, target, nil)
			requireCode(t, errs.NotFound, err)
		}
	},
	"RevokeVersion": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.RevokeVersion(t.Context(), f.current, nil)
		requireCode(t, errs.NotFound, err)
	},
	"CreateEntry": func(t *testing.T, o store.Org, f foreign) { // the same name is another entry, and the same bytes are nobody's
		e := newEntry(f.fullName)
		v, err := newVersion("1.1.0").Of(models.Archive{Hash: f.currentHash})
		require.NoError(t, err)
		made, err := o.CreateEntry(t.Context(), &e, v, nil)
		require.NoError(t, err)
		require.True(t, made.Created)
		require.NotEqual(t, f.entry, made.Entry.ID)
		require.NotEqual(t, f.shelf.skill, made.Entry.SkillID)
	},
}

func init() {
	maps.Copy(tenancy, shelving)
	maps.Copy(tenancy, shut)
}

// open is what anybody gets for an entry that is public or unlisted: a line for each of shelving.
var open = map[string]func(t *testing.T, o store.Org, f foreign){
	"EntriesByID":     func(t *testing.T, o store.Org, f foreign) { requireOne(t, o.EntriesByID, f.entry) },
	"EntryEvidenceOf": func(t *testing.T, o store.Org, f foreign) { requireOne(t, o.EntryEvidenceOf, f.entry) },
	"VersionsByID":    func(t *testing.T, o store.Org, f foreign) { requireOne(t, o.VersionsByID, f.current) },
	"ManifestsOf":     func(t *testing.T, o store.Org, f foreign) { requireOne(t, o.ManifestsOf, f.current) },
	"VersionFilesOf":  func(t *testing.T, o store.Org, f foreign) { requireOne(t, o.VersionFilesOf, f.current) },
	"OrganizationNames": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.OrganizationNames(t.Context(), []ids.ID{f.entry})
		require.NoError(t, err)
		require.Equal(t, map[ids.ID]string{f.entry: "other"}, got)
	},
	"QualityOf": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.QualityOf(t.Context(), []ids.ID{f.first, f.current})
		require.NoError(t, err)
		require.Equal(t, 0, got[f.first].Sessions)
		require.Equal(t, 1, got[f.current].Sessions, "of the owner's telemetry")
	},
	"InstallationCounts": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.InstallationCounts(t.Context(), []ids.ID{f.entry})
		require.NoError(t, err)
		require.Equal(t, map[ids.ID]int{f.entry: 1}, got)
	},
	"VersionInstallationCounts": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.VersionInstallationCounts(t.Context(), []ids.ID{f.first, f.current})
		require.NoError(t, err)
		require.Equal(t, map[ids.ID]int{f.current: 1}, got)
	},
	"VersionNamed": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.VersionNamed(t.Context(), []ids.ID{f.entry}, "1.0.0")
		require.NoError(t, err)
		require.Equal(t, f.first, got[f.entry].ID)
	},
	"VersionBefore": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.VersionBefore(t.Context(), &models.RegistryVersion{ID: f.current, EntryID: f.entry, Number: 2})
		require.NoError(t, err)
		require.Equal(t, f.first, got.ID)
	},
	"VersionsOf": func(t *testing.T, o store.Org, f foreign) {
		got := versions(t, o, f.entry)
		require.Len(t, got, 2)
		require.Equal(t, f.first, got[0].ID)
	},
	"Entries": shelving["Entries"], // are one's own, always
	"PublicEntries": func(t *testing.T, o store.Org, f foreign) {
		for _, words := range []string{"", f.fullName, "words"} {
			page, err := o.PublicEntries(t.Context(), words, everything)
			if f.visibility == models.VisibilityUnlisted {
				requireEmptyPage(t, page, err)
				continue
			}
			require.NoError(t, err)
			require.Len(t, page.Nodes, 1)
			require.Equal(t, f.entry, page.Nodes[0].ID)
		}
	},
	"Install": func(t *testing.T, o store.Org, f foreign) {
		got, created, err := o.Install(t.Context(), f.entry, models.InstallEntryInput{DeviceID: f.device})
		require.NoError(t, err)
		require.True(t, created, "the same device name is another device here")
		require.NotEqual(t, f.installation, got.ID)
		require.Equal(t, &f.current, got.VersionID)
		page, err := o.Installed(t.Context(), everything)
		require.NoError(t, err)
		require.Len(t, page.Nodes, 1)
		pages, err := o.InstallationsOf(t.Context(), []ids.ID{f.entry}, everything)
		require.NoError(t, err)
		require.Len(t, pages[f.entry].Nodes, 1, "one's own team, not the owner's")
		require.Equal(t, got.ID, pages[f.entry].Nodes[0].ID)
	},
	"Sync": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.Sync(t.Context(), []*models.SyncInput{{EntryID: f.entry, CurrentVersionHash: f.firstHash}}, &f.device)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, &f.current, got[0].CurrentID)
		require.Equal(t, &f.first, got[0].HeldID)
	},
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	verbs := maps.Clone(open)
	maps.Copy(verbs, shut)
	for name := range shelving {
		require.Contains(t, verbs, name)
	}
	for _, visibility := range []models.Visibility{models.VisibilityPublic, models.VisibilityUnlisted} {
		t.Run(string(visibility), func(t *testing.T) {
			t.Parallel()
			look := func() (world, foreign) {
				w := newWorld(t)
				return w, foreign{shelf: w.shelved(t, w.other, "secret", visibility)}
			}
			w, f := look()
			for name, verb := range verbs {
				w, f := w, f
				if name == "Install" || name == "CreateEntry" { // which the others would see
					w, f = look()
				}
				t.Log(name)
				before := w.dump(t, w.other)
				verb(t, w.acme, f)
				require.Equal(t, before, w.dump(t, w.other), "%s: nothing of theirs has changed", name)
			}
		})
	}
}

// Whoever is let in by all these verbs finds nothing any more when the owner shuts the door; what they have written down stays
// theirs, unseen, until it opens again.
func TestShutAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := foreign{shelf: w.shelved(t, w.other, "secret", models.VisibilityPublic)}
	mine, _, err := w.acme.Install(t.Context(), f.entry, models.InstallEntryInput{DeviceID: "desk"})
	require.NoError(t, err)
	turn := func(v models.Visibility) {
		_, err := w.other.UpdateEntry(t.Context(), f.entry, models.UpdateEntryInput{Visibility: set(&v)})
		require.NoError(t, err)
	}
	turn(models.VisibilityOrg)
	for name, verb := range shelving {
		t.Log(name)
		verb(t, w.acme, f)
	}
	shut["Installed"](t, w.acme, f)
	shut["SyncCheck"](t, w.acme, f)
	requireNone(t, w.acme.InstallationsByID, mine.ID)
	turn(models.VisibilityUnlisted)
	requireOne(t, w.acme.InstallationsByID, mine.ID)
}

// The same verbs find the organization's own, whoever else may see it.
func TestOwnShelf(t *testing.T) {
	t.Parallel()
	for _, visibility := range models.AllVisibility {
		w := newWorld(t)
		f, o := w.shelved(t, w.acme, "secret", visibility), w.acme
		requireOne(t, o.EntriesByID, f.entry)
		requireOne(t, o.EntriesOfSkills, f.skill)
		requireOne(t, o.OrganizationNames, f.entry)
		requireOne(t, o.EntryEvidenceOf, f.entry)
		requireOne(t, o.VersionsByID, f.current)
		requireOne(t, o.ManifestsOf, f.current)
		requireOne(t, o.VersionFilesOf, f.current)
		requireOne(t, o.QualityOf, f.current)
		requireOne(t, o.InstallationCounts, f.entry)
		requireOne(t, o.VersionInstallationCounts, f.current)
		requireOne(t, o.ReleasesByID, f.release)
		requireOne(t, o.InstallationsByID, f.installation)
		page, err := o.Entries(t.Context(), models.EntryFilter{}, models.EntryOrderCreatedAt, everything)
		require.NoError(t, err)
		require.Len(t, page.Nodes, 1)
		require.Len(t, releases(t, o, f.entry), 2)
		page, err = o.PublicEntries(t.Context(), "", everything)
		require.NoError(t, err)
		require.Len(t, page.Nodes, map[models.Visibility]int{models.VisibilityPublic: 1}[visibility], "listed is what is public, one's own too")
		check, err := o.SyncCheck(t.Context(), &f.device)
		require.NoError(t, err)
		require.Len(t, check, 1)
		require.NoError(t, o.MayPush(t.Context(), f.entry, newVersion("2.0.0")))
	}
}

// Installations of others in the same organization are listed with their entry, and are nobody else's node.
func TestColleagues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.shelved(t, w.acme, "pdf", models.VisibilityOrg)
	u, err := w.acme.AddMember(t.Context(), "colleague@example.com", models.RoleMember)
	require.NoError(t, err)
	colleague := w.Org(w.acme.ID(), u.ID)
	requireNone(t, colleague.InstallationsByID, f.installation)
	page, err := colleague.Installed(t.Context(), everything)
	requireEmptyPage(t, page, err)
	_, err = colleague.Sync(t.Context(), []*models.SyncInput{{EntryID: f.entry, CurrentVersionHash: "none"}}, &f.device)
	require.NoError(t, err)
	pages, err := colleague.InstallationsOf(t.Context(), []ids.ID{f.entry}, everything)
	require.NoError(t, err)
	require.Len(t, pages[f.entry].Nodes, 1)
	require.Nil(t, pages[f.entry].Nodes[0].LastSyncedAt, "a device of the same name is another one")
	require.Equal(t, &f.current, pages[f.entry].Nodes[0].VersionID)
}

// The database itself refuses what the code never does.
func TestRegistryKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, theirs := w.shelved(t, w.acme, "pdf", models.VisibilityPublic), w.shelved(t, w.other, "pdf", models.VisibilityPublic)
	beside := w.shelved(t, w.acme, "docx", models.VisibilityPublic)
	_, err := w.acme.RevokeVersion(t.Context(), beside.first, nil)
	require.NoError(t, err)
	const (
		newEntry = `INSERT INTO registry_entries (org_id, id, skill_id, name, entry_type, description, visibility, created_by, created_at, updated_at)
			VALUES ($1, gen_random_uuid(), $2, 'n', 'SKILL', '', 'ORG', $3, now(), now())`
		newVersion = `INSERT INTO registry_versions (org_id, id, entry_id, number, version, precedence, prerelease, content_hash, hashes, size, file_count, files, source, pushed_by, pushed_at)
			VALUES ($1, gen_random_uuid(), $2, 99, '99', '', false, $3, '{}', 1, 1, '[]', 'CLI', $4, now())`
		newRelease  = `INSERT INTO registry_releases (org_id, id, entry_id, kind, created_by, created_at) VALUES ($1, gen_random_uuid(), $2, 'PUSH', $3, now())`
		newInstall  = `INSERT INTO registry_installations (org_id, id, entry_id, user_id, device_id, version_id, installed_at) VALUES ($1, gen_random_uuid(), $2, $3, 'd', $4, now())`
		makeCurrent = `UPDATE registry_entries SET current_version_id = $2 WHERE id = $1`
	)
	acme, owner, stranger := w.acme.ID(), w.owner.UserID, w.stranger.UserID
	unknown := ids.New(ids.Unknown, time.Now())
	for name, row := range map[string]struct {
		sql      string
		own, bad []any
	}{
		"entry to skill":          {newEntry, []any{acme, mine.skill, owner}, []any{acme, theirs.skill, owner}},
		"entry to maker":          {newEntry, []any{acme, mine.skill, owner}, []any{acme, mine.skill, stranger}},
		"version to entry":        {newVersion, []any{acme, mine.entry, mine.firstHash, owner}, []any{acme, theirs.entry, mine.firstHash, owner}},
		"version to maker":        {newVersion, []any{acme, mine.entry, mine.firstHash, owner}, []any{acme, mine.entry, mine.firstHash, stranger}},
		"version to bytes":        {newVersion, []any{acme, mine.entry, mine.firstHash, owner}, []any{acme, mine.entry, hash("never stored"), owner}},
		"release to entry":        {newRelease, []any{acme, mine.entry, owner}, []any{acme, theirs.entry, owner}},
		"release to maker":        {newRelease, []any{acme, mine.entry, owner}, []any{acme, mine.entry, stranger}},
		"installation to user":    {newInstall, []any{acme, theirs.entry, owner, theirs.first}, []any{acme, mine.entry, stranger, mine.first}},
		"installation to entry":   {newInstall, []any{acme, mine.entry, owner, mine.first}, []any{acme, unknown, owner, mine.first}},
		"installation to version": {newInstall, []any{acme, mine.entry, owner, nil}, []any{acme, mine.entry, owner, unknown}},
		"current, of others":      {makeCurrent, []any{mine.entry, mine.first}, []any{mine.entry, theirs.first}},
		"current, beside":         {makeCurrent, []any{mine.entry, nil}, []any{mine.entry, beside.current}},
		"current, revoked":        {makeCurrent, []any{beside.entry, beside.current}, []any{beside.entry, beside.first}},
		"revoking what is current": {
			`UPDATE registry_versions SET revoked_at = now() WHERE id = $1`, []any{mine.first}, []any{mine.current},
		},
		"deleting what is current": {`DELETE FROM registry_versions WHERE id = $1`, []any{mine.first}, []any{theirs.current}},
		"removing bytes in use":    {`DELETE FROM blobs WHERE hash = $1`, []any{hash("never stored")}, []any{mine.firstHash}},
	} {
		conn := w.conn(t)
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), row.sql, row.own...)
		require.NoError(t, err, "%s: the statement is fine where it should be", name)
		require.NoError(t, tx.Rollback(t.Context()))
		_, err = conn.Exec(t.Context(), row.sql, row.bad...)
		var pg *pgconn.PgError
		require.ErrorAs(t, err, &pg, name)
		require.Equal(t, "23503", pg.Code, "%s: %s", name, pg.Message)
	}
}
