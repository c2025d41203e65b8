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

// unsound counts what must never be: a current version that is none of the entry's, or revoked, or left; nothing current where a
// version is to go back to; and a history with a gap, or that ends elsewhere.
const unsound = `SELECT
	(SELECT count(*) FROM registry_entries e LEFT JOIN registry_versions v ON v.org_id = e.org_id AND v.entry_id = e.id AND v.id = e.current_version_id
		WHERE e.current_version_id IS NOT NULL AND (v.id IS NULL OR v.revoked_at IS NOT NULL OR v.rolled_back)),
	(SELECT count(*) FROM registry_entries e WHERE e.current_version_id IS NULL AND EXISTS (SELECT FROM registry_releases r
		JOIN registry_versions v ON v.org_id = r.org_id AND v.id = r.to_id WHERE r.entry_id = e.id AND v.revoked_at IS NULL AND NOT v.rolled_back)),
	(SELECT count(*) FROM (SELECT r.from_id, lag(r.to_id) OVER (PARTITION BY r.entry_id ORDER BY r.number) AS before FROM registry_releases r) r
		WHERE r.from_id IS DISTINCT FROM r.before),
	(SELECT count(*) FROM registry_entries e WHERE e.current_version_id IS DISTINCT FROM
		(SELECT r.to_id FROM registry_releases r WHERE r.org_id = e.org_id AND r.entry_id = e.id ORDER BY r.number DESC LIMIT 1))`

// scenarios are what becomes of an entry: what is done, what is current after it, and which versions were left. After "!" stands
// the code of a refusal, after which, as after "same", nothing at all has changed.
var scenarios = map[string]string{
	"the way back": `
		push A = A
		push B = B
		push C = C
		rollback = B left C
		rollback = A left B C
		rollback ! CONFLICT
		push D = D left B C
		rollback = A left B C D`,
	"named targets": `
		push 1.0.0 = 1.0.0
		rollback ! CONFLICT
		rollback 1.0.0 = 1.0.0 same
		rollback 2.0.0 ! NOT_FOUND
		push 1.1.0 = 1.1.0
		push 1.2.0 = 1.2.0
		rollback 1.2.0 = 1.2.0 same
		rollback 1.0.0 = 1.0.0 left 1.2.0
		rollback 1.2.0 = 1.2.0 left 1.0.0
		rollback 1.1.0 = 1.1.0 left 1.0.0 1.2.0
		rollback 1.0.0 = 1.0.0 left 1.1.0 1.2.0
		rollback 1.0.0 = 1.0.0 left 1.1.0 1.2.0 same
		rollback ! CONFLICT`,
	"names are exact": `
		push v1.0.0 = v1.0.0
		push 1.0.0 = 1.0.0
		push 1.0.0+b = 1.0.0+b
		push Beta = Beta
		rollback beta ! NOT_FOUND
		rollback 1.0 ! NOT_FOUND
		rollback v1.0.0 = v1.0.0 left Beta
		rollback Beta = Beta left v1.0.0`,
	"an old version pushed late": `
		push 2.0.0 = 2.0.0
		push 1.9.9 = 1.9.9
		rollback = 2.0.0 left 1.9.9`,
	"no semantic versions": `
		push september = september
		push august = august
		push 2026 = 2026
		push 1.0 = 1.0
		push 01.0.0 = 01.0.0
		rollback = 1.0 left 01.0.0`,
	"prereleases alone": `
		push 1.0.0-rc.1 = 1.0.0-rc.1
		push 0.0.0-repohost.abc1234 = 0.0.0-repohost.abc1234
		push 1.0.0-alpha = 1.0.0-alpha
		rollback = 0.0.0-repohost.abc1234 left 1.0.0-alpha`,
	"prereleases beside a release": `
		push 1.0.0-rc.1 = 1.0.0-rc.1
		push 1.0.0 = 1.0.0
		push 2.0.0-rc.1 = 1.0.0
		push v2.0.0-rc.2+build = 1.0.0
		push 0.0.0-repohost.abc1234 = 1.0.0
		push 0.0.0-repohost.1234567 = 1.0.0
		push 0.0.0-repohost.0123456 = 1.0.0
		push 0.0.0-repohost.0000000 = 1.0.0
		push 2.0.0-99999999999999999999999999 = 1.0.0
		rollback = 1.0.0-rc.1 left 1.0.0
		push 3.0.0-rc.1 = 3.0.0-rc.1 left 1.0.0
		rollback 1.0.0 = 1.0.0 left 3.0.0-rc.1
		push 3.0.0-rc.2 = 1.0.0 left 3.0.0-rc.1
		rollback 3.0.0-rc.2 = 3.0.0-rc.2 left 1.0.0 3.0.0-rc.1
		push 2.0.0 = 2.0.0 left 1.0.0 3.0.0-rc.1`,
	"revoking": `
		push A = A
		push B = B
		push C = C
		revoke B = C
		revoke B = C same
		rollback B ! CONFLICT
		rollback = A left C
		rollback C = C left A
		revoke C = none left A
		rollback ! CONFLICT
		rollback C ! CONFLICT
		rollback A = A
		revoke A = none
		rollback ! CONFLICT
		push D = D
		revoke D = none
		push A ! CONFLICT other
		push A = none same`,
	"revoking what is current": `
		push A = A
		push B = B
		push C = C
		rollback = B left C
		revoke B = A left C
		rollback C = C left A
		revoke A = C
		rollback ! CONFLICT`,
	"revoking the release": `
		push 1.0.0 = 1.0.0
		push 1.1.0-rc.1 = 1.0.0
		revoke 1.0.0 = none
		push 1.1.0-rc.2 = 1.1.0-rc.2
		rollback 1.1.0-rc.1 = 1.1.0-rc.1 left 1.1.0-rc.2
		push 1.1.0 = 1.1.0 left 1.1.0-rc.2`,
	"the same again": `
		push A = A
		push A = A same
		push B = B
		push A = B same
		push A ! CONFLICT other
		push B ! CONFLICT other
		rollback = A left B
		push B = A left B same`,
}

func TestCurrentVersion(t *testing.T) {
	t.Parallel()
	for name, script := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.entry(t, w.acme, "beside", models.VisibilityOrg) // what happens to one entry is nothing to another
			beside := w.entry(t, w.other, "pdf", models.VisibilityPublic)
			p := &play{world: w, name: "pdf"}
			for line := range strings.Lines(strings.TrimSpace(script)) {
				p.step(t, strings.TrimSpace(line))
			}
			require.Equal(t, beside.Entry, w.one(t, w.other, beside.Entry.ID))
		})
	}
}

// play is one scenario under way.
type play struct {
	world
	name  string
	entry ids.ID
	made  map[string]*models.RegistryVersion
}

func (p *play) step(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	at := slices.IndexFunc(words, func(s string) bool { return s == "=" || s == "!" })
	verb, arg, wanted := words[0], "", words[at+1:]
	if at == 2 {
		arg = words[1]
	}
	before, history := p.dump(t, p.acme), p.history(t)
	out, err := p.do(t, verb, arg, slices.Contains(wanted, "other"))
	if words[at] == "!" {
		requireCode(t, errs.Code(wanted[0]), err)
		require.Equal(t, before, p.dump(t, p.acme), "%s: nothing has changed", line)
		return
	}
	require.NoError(t, err, line)
	left := wanted[1:]
	if n := len(left); n > 0 && left[n-1] == "same" {
		require.Equal(t, before, p.dump(t, p.acme), "%s: nothing has changed", line)
		require.False(t, out.Created)
		left = left[:n-1]
	} else {
		require.NotEqual(t, before, p.dump(t, p.acme), line)
		require.Equal(t, verb == "push", out.Created)
	}
	if len(left) > 0 {
		left = left[1:]
	}
	p.check(t, line, out, wanted[0], left)
	if fresh := p.history(t)[len(history):]; len(fresh) > 0 {
		require.Len(t, fresh, 1, line)
		require.Equal(t, map[string]models.ReleaseKind{"push": models.ReleaseKindPush, "rollback": models.ReleaseKindRollback, "revoke": models.ReleaseKindRevocation}[verb], fresh[0].Kind)
		require.Equal(t, p.owner.UserID, *fresh[0].CreatedByID)
		if verb == "push" {
			require.Nil(t, fresh[0].Reason)
		} else {
			require.Equal(t, "because of "+arg, *fresh[0].Reason)
		}
	}
}

func (p *play) do(t *testing.T, verb, arg string, other bool) (models.Published, error) {
	t.Helper()
	ctx, reason := t.Context(), "because of "+arg
	text := p.name + " " + arg
	if other {
		text += " in other bytes"
	}
	switch {
	case verb == "push" && p.entry.IsZero():
		out, err := p.create(ctx, p.acme, newEntry(p.name), newVersion(arg), text)
		if err == nil {
			p.entry, p.made = out.Entry.ID, map[string]*models.RegistryVersion{arg: out.Version}
		}
		return out, err
	case verb == "push":
		out, err := p.push(ctx, p.acme, p.entry, newVersion(arg), text)
		if err == nil {
			p.made[arg] = out.Version
		}
		return out, err
	case verb == "revoke":
		return p.acme.RevokeVersion(ctx, p.made[arg].ID, &reason)
	}
	var target *string
	if arg != "" {
		target = &arg
	}
	return p.acme.Rollback(ctx, p.entry, target, &reason)
}

func (p *play) history(t *testing.T) []*models.Release {
	t.Helper()
	if p.entry.IsZero() {
		return nil
	}
	return releases(t, p.acme, p.entry)
}

// check compares what was answered with what is there.
func (p *play) check(t *testing.T, line string, out models.Published, current string, left []string) {
	t.Helper()
	e := p.one(t, p.acme, p.entry)
	require.Equal(t, e, out.Entry, line)
	is, gone := "none", []string{}
	for _, v := range versions(t, p.acme, p.entry) {
		if e.CurrentVersionID != nil && v.ID == *e.CurrentVersionID {
			is = v.Version
		}
		if v.RolledBack && v.RevokedAt == nil {
			gone = append(gone, v.Version)
		}
		if v.ID == out.Version.ID {
			require.Equal(t, v, out.Version, line)
		}
	}
	require.Equal(t, current, is, line)
	require.ElementsMatch(t, left, gone, line)
	p.requireSound(t)
}

// requireSound asks the database itself.
func (w world) requireSound(t testing.TB) {
	t.Helper()
	conn := connect(t, w.url)
	defer func() { _ = conn.Close(context.Background()) }()
	var got [4]int
	require.NoError(t, conn.QueryRow(t.Context(), unsound).Scan(&got[0], &got[1], &got[2], &got[3]))
	require.Equal(t, [4]int{}, got, "wrongly current, wrongly none, gaps in the history, ends of it elsewhere")
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
