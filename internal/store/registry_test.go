package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// packed is what the registry's door says of an archive: some bytes, and a SKILL.md of its own.
func packed(text string) models.Archive {
	skill := hash("skill of " + text)
	return models.Archive{Hash: hash(text), Size: len(text), Files: []models.FileInfo{{Path: "SKILL.md", SHA256: skill, Size: 7}}, SkillHash: &skill}
}

// create publishes an entry as the door does: the blob is entered before the row.
func (w world) create(ctx context.Context, org store.Org, e models.RegistryEntry, in models.NewVersion, text string) (out models.Published, err error) {
	a := packed(text)
	v, err := in.Of(a)
	if err != nil {
		return out, err
	}
	if err := w.TouchBlob(ctx, a.Hash, int64(a.Size)); err != nil {
		return out, err
	}
	return org.CreateEntry(ctx, &e, v, a.Files)
}

// push publishes a version in the same way.
func (w world) push(ctx context.Context, org store.Org, entry ids.ID, in models.NewVersion, text string) (out models.Published, err error) {
	a := packed(text)
	v, err := in.Of(a)
	if err != nil {
		return out, err
	}
	if err := w.TouchBlob(ctx, a.Hash, int64(a.Size)); err != nil {
		return out, err
	}
	return org.PushVersion(ctx, entry, in, v, a.Files)
}

func newEntry(name string) models.RegistryEntry {
	return models.RegistryEntry{Name: name, EntryType: models.EntryTypeSkill, Visibility: models.VisibilityOrg}
}

func newVersion(version string) models.NewVersion {
	return models.NewVersion{Version: version, Source: models.VersionSourceCli}
}

// entry makes an entry with the version 1.0.0.
func (w world) entry(t testing.TB, org store.Org, name string, visibility models.Visibility) models.Published {
	t.Helper()
	e := newEntry(name)
	e.Visibility = visibility
	out, err := w.create(t.Context(), org, e, newVersion("1.0.0"), name+" 1.0.0")
	require.NoError(t, err)
	require.True(t, out.Created)
	return out
}

// version pushes a version that has bytes of its own.
func (w world) version(t testing.TB, org store.Org, e *models.RegistryEntry, version string) *models.RegistryVersion {
	t.Helper()
	out, err := w.push(t.Context(), org, e.ID, newVersion(version), e.Name+" "+version)
	require.NoError(t, err)
	require.True(t, out.Created)
	return out.Version
}

// versions reads the versions of an entry, in the order of their pushes.
func versions(t testing.TB, org store.Org, entry ids.ID) []*models.RegistryVersion {
	t.Helper()
	pages, err := org.VersionsOf(t.Context(), []ids.ID{entry}, models.VersionList{Window: everything, OrderBy: models.VersionOrderPushedAt})
	require.NoError(t, err)
	out := pages[entry].Nodes
	slices.Reverse(out)
	return out
}

func releases(t testing.TB, org store.Org, entry ids.ID) []*models.Release {
	t.Helper()
	pages, err := org.ReleasesOf(t.Context(), []ids.ID{entry}, everything)
	require.NoError(t, err)
	out := pages[entry].Nodes
	slices.Reverse(out)
	return out
}

func (w world) one(t testing.TB, org store.Org, entry ids.ID) *models.RegistryEntry {
	t.Helper()
	found, err := org.EntriesByID(t.Context(), []ids.ID{entry})
	require.NoError(t, err)
	return found[entry]
}

// What is kept is what was given, and the trail tells of it.
func TestCreateEntry(t *testing.T) {
	t.Parallel()
	w := newWorldAt(t, func() time.Time { return noon })
	e := newEntry("pdf")
	e.Description, e.Visibility, e.SourceRepo, e.EntryType = "It's “pdf” \\ ? $1", models.VisibilityUnlisted, new("owner/repo"), models.EntryTypeSkillSet
	in := newVersion("1.0.0-rc.1+build")
	in.ChangeSummary, in.ContentHash, in.Source, in.SourceRef, in.SourceRepo = new("first\nof all"), new("my tag"), models.VersionSourceRepohostDirect, new("refs/tags/v1"), new("owner/repo")
	out, err := w.create(t.Context(), w.acme, e, in, "bytes")
	require.NoError(t, err)
	skill, err := w.acme.Skill(t.Context(), models.SkillKey{Name: "pdf"})
	require.NoError(t, err)
	a := packed("bytes")
	require.Equal(t, ids.Entry, out.Entry.ID.Kind())
	require.Equal(t, ids.Version, out.Version.ID.Kind())
	require.Equal(t, &models.RegistryEntry{
		OrgID: w.acme.ID(), ID: out.Entry.ID, SkillID: skill.ID, Name: "pdf", EntryType: models.EntryTypeSkillSet, Description: e.Description,
		Visibility: models.VisibilityUnlisted, SourceRepo: new("owner/repo"), CurrentVersionID: &out.Version.ID, CreatedByID: &w.owner.UserID, CreatedAt: noon, UpdatedAt: noon,
	}, out.Entry)
	require.Equal(t, &models.RegistryVersion{
		OrgID: w.acme.ID(), ID: out.Version.ID, EntryID: out.Entry.ID, Number: 1, Version: "1.0.0-rc.1+build", Precedence: out.Version.Precedence, Prerelease: true,
		ContentHash: a.Hash, ClientTag: new("my tag"), SkillHash: a.SkillHash, Size: 5, FileCount: 1, ChangeSummary: in.ChangeSummary,
		Source: models.VersionSourceRepohostDirect, SourceRef: in.SourceRef, SourceRepo: in.SourceRepo, PushedByID: &w.owner.UserID, PushedAt: noon,
	}, out.Version)
	require.Equal(t, out.Entry, w.one(t, w.acme, out.Entry.ID))
	require.Equal(t, []*models.RegistryVersion{out.Version}, versions(t, w.acme, out.Entry.ID))
	files, err := w.acme.VersionFilesOf(t.Context(), []ids.ID{out.Version.ID})
	require.NoError(t, err)
	require.Equal(t, []*models.FileInfo{&a.Files[0]}, files[out.Version.ID])
	manifests, err := w.acme.ManifestsOf(t.Context(), []ids.ID{out.Version.ID})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf(`[{"path":"SKILL.md","hash":%q,"size":7}]`, *a.SkillHash), string(manifests[out.Version.ID]))

	all := events(t, w.acme)
	last := all[len(all)-1]
	require.Equal(t, "version.published", last.Kind)
	require.Equal(t, out.Version.ID, last.ObjectID)
	require.JSONEq(t, fmt.Sprintf(`{"entry_id":%q,"name":"pdf","version":"1.0.0-rc.1+build","is_current":true}`, out.Entry.ID), string(last.Data))
}

// The server publishes too, on behalf of nobody.
func TestServerPublishes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.entry(t, w.Org(w.acme.ID(), ids.ID{}), "pdf", models.VisibilityOrg)
	require.Nil(t, out.Entry.CreatedByID)
	require.Nil(t, out.Version.PushedByID)
	require.Nil(t, releases(t, w.acme, out.Entry.ID)[0].CreatedByID)
}

// Creating what is there is no conflict only when version and bytes are the same, whatever else is said.
func TestCreateEntryAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	second := w.version(t, w.acme, first.Entry, "1.1.0")
	before := w.dump(t, w.acme)
	e := newEntry("pdf")
	e.Description, e.Visibility = "another", models.VisibilityPublic
	for version, want := range map[string]*models.RegistryVersion{"1.0.0": first.Version, "1.1.0": second} {
		again, err := w.create(t.Context(), w.acme, e, newVersion(version), "pdf "+version)
		require.NoError(t, err)
		require.False(t, again.Created)
		require.Equal(t, w.one(t, w.acme, first.Entry.ID), again.Entry)
		require.Equal(t, want, again.Version)
		_, err = w.create(t.Context(), w.acme, e, newVersion(version), "other bytes")
		requireCode(t, errs.Conflict, err)
		require.Contains(t, err.Error(), "/api/v1/registry/"+first.Entry.ID.String()+"/versions")
	}
	_, err := w.create(t.Context(), w.acme, e, newVersion("1.2.0"), "pdf 1.0.0")
	requireCode(t, errs.Conflict, err)
	require.Equal(t, before, w.dump(t, w.acme))
}

// A version is meant for one entry, and says so; what it says of the entry is taken over with it.
func TestPushVersionMetadata(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg).Entry
	before := w.dump(t, w.acme)
	for field, wrong := range map[string]models.NewVersion{
		"name":      {Version: "2.0.0", Source: models.VersionSourceCli, Name: new("docx")},
		"entryType": {Version: "2.0.0", Source: models.VersionSourceCli, EntryType: new(models.EntryTypeAgent)},
	} {
		_, err := w.push(t.Context(), w.acme, e.ID, wrong, "bytes")
		requireCode(t, errs.Invalid, err)
		require.Equal(t, []string{"metadata", field}, pathOf(err))
		require.Equal(t, err, w.acme.MayPush(t.Context(), e.ID, wrong), "the same is told before the bytes are stored")
	}
	require.Equal(t, before, w.dump(t, w.acme))

	in := newVersion("2.0.0")
	in.Name, in.EntryType, in.Description = new("pdf"), new(models.EntryTypeSkill), new("better")
	require.NoError(t, w.acme.MayPush(t.Context(), e.ID, in))
	out, err := w.push(t.Context(), w.acme, e.ID, in, "bytes")
	require.NoError(t, err)
	require.Equal(t, "better", out.Entry.Description)
	require.Equal(t, "better", w.one(t, w.acme, e.ID).Description)
	before = w.dump(t, w.acme)
	in.Description = new("worse")
	out, err = w.push(t.Context(), w.acme, e.ID, in, "bytes")
	require.NoError(t, err)
	require.False(t, out.Created)
	require.Equal(t, "better", out.Entry.Description)
	require.Equal(t, before, w.dump(t, w.acme), "what is there already changes nothing")
}

func TestUpdateEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg).Entry
	got, err := w.acme.UpdateEntry(t.Context(), e.ID, models.UpdateEntryInput{Description: set(new("d")), Visibility: set(new(models.VisibilityPublic)), SourceRepo: set(new("a/b"))})
	require.NoError(t, err)
	require.Equal(t, "d", got.Description)
	require.Equal(t, models.VisibilityPublic, got.Visibility)
	require.Equal(t, new("a/b"), got.SourceRepo)
	require.Equal(t, got, w.one(t, w.acme, e.ID))
	before := w.dump(t, w.acme)
	same, err := w.acme.UpdateEntry(t.Context(), e.ID, models.UpdateEntryInput{Description: set(new("d")), SourceRepo: set(new("a/b"))})
	require.NoError(t, err)
	require.Equal(t, got, same)
	for field, in := range map[string]models.UpdateEntryInput{
		"description": {Description: set(new(strings.Repeat("x", 4001)))},
		"visibility":  {Visibility: set[*models.Visibility](nil)},
		"sourceRepo":  {SourceRepo: set(new("nowhere"))},
	} {
		_, err := w.acme.UpdateEntry(t.Context(), e.ID, in)
		requireCode(t, errs.Invalid, err)
		require.Equal(t, []string{field}, pathOf(err))
	}
	require.Equal(t, before, w.dump(t, w.acme), "no trace of what changed nothing")
	got, err = w.acme.UpdateEntry(t.Context(), e.ID, models.UpdateEntryInput{SourceRepo: set[*string](nil)})
	require.NoError(t, err)
	require.Nil(t, got.SourceRepo)
	require.Equal(t, "entry.updated", happened(t, w.acme)[len(happened(t, w.acme))-1])
}

// With an entry goes everything that hangs on it, in every organization, and its name is free again.
func TestDeleteEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityPublic).Entry
	w.version(t, w.acme, e, "1.1.0")
	_, err := w.acme.Rollback(t.Context(), e.ID, nil, nil)
	require.NoError(t, err)
	for _, org := range []store.Org{w.acme, w.other} {
		_, _, err = org.Install(t.Context(), e.ID, models.InstallEntryInput{DeviceID: "laptop"})
		require.NoError(t, err)
	}
	stays := w.entry(t, w.acme, "docx", models.VisibilityOrg).Entry
	require.NoError(t, w.acme.DeleteEntry(t.Context(), e.ID))
	for table, n := range map[string]int{"registry_entries": 1, "registry_versions": 1, "registry_releases": 1, "registry_installations": 0} {
		require.Equal(t, n, w.count(t, "SELECT count(*) FROM "+table), table)
	}
	requireCode(t, errs.NotFound, w.acme.DeleteEntry(t.Context(), e.ID))
	require.NotNil(t, w.one(t, w.acme, stays.ID))
	kinds := happened(t, w.acme)
	require.Equal(t, "entry.deleted", kinds[len(kinds)-1])
	again := w.entry(t, w.acme, "pdf", models.VisibilityOrg).Entry
	require.NotEqual(t, e.ID, again.ID)
	require.Equal(t, e.SkillID, again.SkillID, "the skill of the name has stayed")
}

// An entry may have a thousand versions of ten thousand files: no more of their lists are read at once than fit in memory.
func TestManifestsOfManyVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	both := []ids.ID{e.Version.ID, w.version(t, w.acme, e.Entry, "1.1.0").ID}
	got, err := w.acme.VersionFilesOf(t.Context(), both)
	require.NoError(t, err)
	require.Len(t, got, 2)
	dbtest.Exec(t, w.url, `UPDATE registry_versions SET files = ('[{"path": "' || repeat('x', 40 * 1024 * 1024) || '"}]')::json`)
	_, err = w.acme.ManifestsOf(t.Context(), both)
	requireCode(t, errs.TooComplex, err)
	_, err = w.acme.VersionFilesOf(t.Context(), both)
	requireCode(t, errs.TooComplex, err)
	for _, one := range both {
		requireOne(t, w.acme.ManifestsOf, one)
		requireOne(t, w.acme.VersionFilesOf, one)
	}
}

// Whatever somebody sends as a name, it is found or it is not, and nothing breaks.
func TestOddNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg).Entry
	before := w.dump(t, w.acme)
	for _, odd := range []string{"", " ", "'", `"; DROP TABLE registry_versions; --`, "%", "$1", "?", `\`, "🦊", strings.Repeat("x", 1<<20), "a\x00b", "\xff"} {
		_, err := w.acme.Rollback(t.Context(), e.ID, &odd, nil)
		require.Contains(t, []errs.Code{errs.NotFound, errs.Invalid}, errs.CodeOf(err), "%.20q", odd)
		found, err := w.acme.VersionNamed(t.Context(), []ids.ID{e.ID}, odd)
		require.Empty(t, found)
		require.True(t, err == nil || errs.CodeOf(err) == errs.Invalid, "%v", err)
		page, err := w.acme.Entries(t.Context(), models.EntryFilter{Name: set(&odd)}, models.EntryOrderName, everything)
		require.True(t, err == nil && len(page.Nodes) == 0 || errs.CodeOf(err) == errs.Invalid, "%v", err)
		require.NotEqual(t, []string{"after"}, pathOf(err), "it is not the cursor's fault")
		if len(odd) < 1000 { // which CheckWords makes sure of
			_, err = w.acme.PublicEntries(t.Context(), odd, everything)
			require.True(t, err == nil || errs.CodeOf(err) == errs.Invalid, "%v", err)
			require.NotEqual(t, []string{"after"}, pathOf(err))
		}
	}
	for _, reason := range []string{"a\x00b", "\xff", strings.Repeat("x", 2001)} {
		_, err := w.acme.Rollback(t.Context(), e.ID, nil, &reason)
		require.Equal(t, []string{"reason"}, pathOf(err))
		_, err = w.acme.RevokeVersion(t.Context(), *e.CurrentVersionID, &reason)
		require.Equal(t, []string{"reason"}, pathOf(err))
	}
	require.Equal(t, before, w.dump(t, w.acme))
}

// An id of another kind is not found, and the words say what it is.
func TestRegistryIDsOfAnotherKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	_, err := w.acme.Rollback(t.Context(), made.Version.ID, nil, nil)
	require.EqualError(t, err, made.Version.ID.String()+" is the id of a registry version, not of a registry entry")
	_, err = w.acme.RevokeVersion(t.Context(), made.Entry.ID, nil)
	require.EqualError(t, err, made.Entry.ID.String()+" is the id of a registry entry, not of a registry version")
	_, _, err = w.acme.Install(t.Context(), w.owner.UserID, models.InstallEntryInput{DeviceID: "d"})
	require.EqualError(t, err, w.owner.UserID.String()+" is the id of a member, not of a registry entry")
}

func pathOf(err error) []string {
	var e *errs.Error
	if !errors.As(err, &e) {
		return nil
	}
	return e.Path
}
