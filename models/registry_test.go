package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

var (
	archiveHash = strings.Repeat("a1", 32)
	skillHash   = strings.Repeat("b2", 32)
	notesHash   = strings.Repeat("c3", 32)
)

// inspected is an archive of two files.
func inspected() models.Archive {
	return models.Archive{
		Hash: archiveHash, Size: 100, SkillHash: &skillHash,
		Files: []models.FileInfo{{Path: "SKILL.md", SHA256: skillHash, Size: 12}, {Path: "docs/notes.md", SHA256: notesHash, Size: 0}},
	}
}

// A hash must be right; anything else is a tag of the client's own.
func TestContentHash(t *testing.T) {
	t.Parallel()
	wrong := strings.Repeat("0", 64)
	const changed = "the archive's SHA-256 is %s: it was changed or cut off on the way"
	for _, c := range []struct {
		given   *string
		tag     *string
		refused bool
	}{
		{nil, nil, false},
		{new(""), nil, false},
		{&archiveHash, nil, false},
		{new(strings.ToUpper(archiveHash)), nil, false},
		{new("sha256:" + archiveHash), nil, false},
		{new("sha256:" + strings.ToUpper(archiveHash)), nil, false},
		{&wrong, nil, true},
		{new("sha256:" + wrong), nil, true},
		{&skillHash, nil, true},
		{new("sha256:"), nil, false},
		{new("none"), nil, false},
		{new("sha256:none"), nil, false},
		{new("my tag"), new("my tag"), false},
		{new(archiveHash[:63]), new(archiveHash[:63]), false},
		{new(archiveHash + "0"), new(archiveHash + "0"), false},
		{new("SHA256:" + archiveHash), new("SHA256:" + archiveHash), false},
		{new("sha256:sha256:" + archiveHash), new("sha256:sha256:" + archiveHash), false},
		{new("md5:" + archiveHash), new("md5:" + archiveHash), false},
		{new(" " + archiveHash), new(" " + archiveHash), false},
		{new("🦊"), new("🦊"), false},
	} {
		v, err := models.NewVersion{Version: "1.0.0", ContentHash: c.given}.Of(inspected())
		if c.refused {
			path, message := refusal(t, err)
			require.Equal(t, "metadata.contentHash", path)
			require.Equal(t, fmt.Sprintf(changed, archiveHash), message)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, archiveHash, v.ContentHash, "ours is always kept")
		require.Equal(t, c.tag, v.ClientTag)
	}
}

// A list of files must agree with the archive where it has the form of one.
func TestFileManifest(t *testing.T) {
	t.Parallel()
	skill := fmt.Sprintf(`{"path": "SKILL.md", "hash": %q, "size": 12}`, skillHash)
	notes := fmt.Sprintf(`{"path": "docs/notes.md", "hash": %q, "size": 0}`, notesHash)
	for _, c := range []struct{ manifest, path, message string }{
		{"[" + skill + "," + notes + "]", "", ""},
		{"[" + notes + "," + skill + "]", "", ""},
		{strings.ReplaceAll("["+skill+","+notes+"]", `"path": "`, `"path": "./`), "", ""},
		{strings.ReplaceAll("["+skill+","+notes+"]", `"hash": "`, `"hash": "sha256:`), "", ""},
		{strings.ReplaceAll("["+skill+","+notes+"]", skillHash, strings.ToUpper(skillHash)), "", ""},
		{strings.ReplaceAll("["+skill+","+notes+"]", `{`, `{"mode": "0644", `), "", ""},

		{"[" + skill + "]", "metadata.fileManifest", `"docs/notes.md" is in the archive and not in the list`},
		{"[" + skill + "," + notes + "," + strings.Replace(skill, "SKILL.md", "gone.md", 1) + "]", "metadata.fileManifest.2.path", `there is no file "gone.md" in the archive, or it is listed twice`},
		{"[" + skill + "," + skill + "," + notes + "]", "metadata.fileManifest.1.path", `there is no file "SKILL.md" in the archive, or it is listed twice`},
		{"[" + skill + "," + strings.Replace(skill, "SKILL.md", "./SKILL.md", 1) + "]", "metadata.fileManifest.1.path", `there is no file "SKILL.md" in the archive, or it is listed twice`},
		{"[" + strings.Replace(skill, "SKILL.md", "skill.md", 1) + "]", "metadata.fileManifest.0.path", `there is no file "skill.md" in the archive, or it is listed twice`},
		{"[" + strings.Replace(skill, "SKILL.md", "././SKILL.md", 1) + "]", "metadata.fileManifest.0.path", `there is no file "./SKILL.md" in the archive, or it is listed twice`},
		{"[" + notes + "," + strings.Replace(skill, skillHash, notesHash, 1) + "]", "metadata.fileManifest.1.hash", `the SHA-256 of "SKILL.md" is ` + skillHash},
		{"[" + strings.Replace(skill, skillHash, "", 1) + "]", "metadata.fileManifest.0.hash", `the SHA-256 of "SKILL.md" is ` + skillHash},
		{"[" + strings.Replace(skill, "12", "13", 1) + "]", "metadata.fileManifest.0.size", `"SKILL.md" has 12 bytes`},
		{"[" + strings.Replace(skill, "12", "-12", 1) + "]", "metadata.fileManifest.0.size", `"SKILL.md" has 12 bytes`},

		// Of another form: it says nothing.
		{"", "", ""},
		{"null", "", ""},
		{"{}", "", ""},
		{"[]", "", ""},
		{`"SKILL.md"`, "", ""},
		{`7`, "", ""},
		{`["SKILL.md"]`, "", ""},
		{`[null]`, "", ""},
		{`[{"path": "SKILL.md"}]`, "", ""},
		{`[{"path": "SKILL.md", "sha256": "x", "size": 1}]`, "", ""},
		{`[{"path": 7, "hash": "x", "size": 1}]`, "", ""},
		{`[{"path": "SKILL.md", "hash": "x", "size": "12"}]`, "", ""},
		{`[{"path": "SKILL.md", "hash": "x", "size": 1e99}]`, "", ""},
		{`{"SKILL.md": {"hash": "x", "size": 1}}`, "", ""},
	} {
		_, err := models.NewVersion{Version: "1.0.0", FileManifest: models.JSON(c.manifest)}.Of(inspected())
		if c.message == "" {
			require.NoError(t, err, c.manifest)
			continue
		}
		path, message := refusal(t, err)
		require.Equal(t, c.path, path, c.manifest)
		require.Equal(t, c.message, message, c.manifest)
	}
}

// A list is of that form when every line is, wherever another one stands.
func TestMixedManifest(t *testing.T) {
	t.Parallel()
	for _, manifest := range []string{
		`[{"other": "form"}, {"path": "gone", "hash": "x", "size": 1}]`,
		`[{"path": "gone", "hash": "x", "size": 1}, {"other": "form"}]`,
	} {
		_, err := models.NewVersion{FileManifest: models.JSON(manifest)}.Of(inspected())
		require.NoError(t, err, manifest)
	}
}

func TestHashes(t *testing.T) {
	t.Parallel()
	v, err := models.NewVersion{ContentHash: new("my tag")}.Of(inspected())
	require.NoError(t, err)
	require.Equal(t, []string{archiveHash, "sha256:" + archiveHash, skillHash, "sha256:" + skillHash, "my tag"}, v.Hashes())
	require.Empty(t, v.Warnings())
	bare := inspected()
	bare.SkillHash = nil
	v, err = models.NewVersion{ContentHash: &archiveHash}.Of(bare)
	require.NoError(t, err)
	require.Equal(t, []string{archiveHash, "sha256:" + archiveHash}, v.Hashes())
	require.Equal(t, []string{"There is no SKILL.md at the root of the archive"}, v.Warnings())
}

func TestNormalHash(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		archiveHash: archiveHash, "sha256:" + strings.ToUpper(archiveHash): archiveHash, strings.ToUpper(archiveHash): archiveHash,
		"none": "none", "": "", "sha256:tag": "sha256:tag", "Tag": "Tag", archiveHash[1:]: archiveHash[1:],
	} {
		require.Equal(t, want, models.NormalHash(given))
	}
}

func TestEntryRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 129)
	const (
		name    = "must be 1 to 128 letters, digits, dots, underscores and hyphens, beginning with a letter or digit"
		version = "must be 1 to 128 letters, digits, dots, plus signs, underscores and hyphens, beginning with a letter or digit"
		repo    = "must be a repository's full name, such as owner/repo"
		control = "must not contain control characters but for line ends and tabs"
	)
	change := func(f func(*models.CreateEntryMetadata)) models.CreateEntryMetadata {
		in := models.CreateEntryMetadata{Name: "pdf", Version: "1.0.0"}
		f(&in)
		return in
	}
	type in = models.CreateEntryMetadata
	for _, c := range []struct {
		change        func(*in)
		path, message string
	}{
		{func(*in) {}, "", ""},
		{func(i *in) { i.Name = long[:128] }, "", ""},
		{func(i *in) { i.Name = "9._-Z" }, "", ""},
		{func(i *in) { i.Name = "" }, "name", name},
		{func(i *in) { i.Name = long }, "name", name},
		{func(i *in) { i.Name = ".pdf" }, "name", name},
		{func(i *in) { i.Name = "a/b" }, "name", name},
		{func(i *in) { i.Name = "pdf\n" }, "name", name},
		{func(i *in) { i.Name = "pdf\x00" }, "name", name},
		{func(i *in) { i.Name = "é" }, "name", name},
		{func(i *in) { i.Version = long[:128] }, "", ""},
		{func(i *in) { i.Version = "v1.0.0-rc.1+b_1" }, "", ""},
		{func(i *in) { i.Version = "" }, "version", version},
		{func(i *in) { i.Version = long }, "version", version},
		{func(i *in) { i.Version = "+1" }, "version", version},
		{func(i *in) { i.Version = "1 0" }, "version", version},
		{func(i *in) { i.Version = "1.0.0\n" }, "version", version},
		{func(i *in) { i.Version = "../1" }, "version", version},
		{func(i *in) { i.SourceRepo = graphql.OmittableOf(new("owner/repo")) }, "", ""},
		{func(i *in) { i.SourceRepo = graphql.OmittableOf(new("owner")) }, "sourceRepo", repo},
		{func(i *in) { i.SourceRepo = graphql.OmittableOf(new("a/b/c")) }, "sourceRepo", repo},
		{func(i *in) { i.SourceRepo = graphql.OmittableOf(new("")) }, "sourceRepo", repo},
		{func(i *in) { i.Description = graphql.OmittableOf(new(strings.Repeat("é", 4000) + "")) }, "", ""},
		{func(i *in) { i.Description = graphql.OmittableOf(new(strings.Repeat("é", 4001))) }, "description", "must be at most 4000 characters long"},
		{func(i *in) { i.Description = graphql.OmittableOf(new("a\tb\r\nc")) }, "", ""},
		{func(i *in) { i.Description = graphql.OmittableOf(new("a\x00")) }, "description", control},
		{func(i *in) { i.Description = graphql.OmittableOf(new("\xff")) }, "description", "must be UTF-8"},
		{func(i *in) { i.ChangeSummary = graphql.OmittableOf(new(strings.Repeat("x", 10_001))) }, "changeSummary", "must be at most 10000 characters long"},
		{func(i *in) { i.ChangeSummary = graphql.OmittableOf(new("\x1b[31m")) }, "changeSummary", control},
		{func(i *in) { i.ContentHash = graphql.OmittableOf(new(strings.Repeat("x", 200))) }, "", ""},
		{func(i *in) { i.ContentHash = graphql.OmittableOf(new(strings.Repeat("x", 201))) }, "contentHash", "must be at most 200 characters long"},
		{func(i *in) { i.ContentHash = graphql.OmittableOf(new("a\nb")) }, "contentHash", "must not contain control characters"},
	} {
		given := change(c.change)
		_, _, err := given.Entry(nil, nil)
		_, pushed := models.PushVersionMetadata{Version: given.Version, Description: given.Description, ChangeSummary: given.ChangeSummary, ContentHash: given.ContentHash}.NewVersion()
		if c.message == "" {
			require.NoError(t, err, "%+v", given)
			require.NoError(t, pushed)
			continue
		}
		path, message := refusal(t, err)
		require.Equal(t, c.path, path, "%+v", given)
		require.Equal(t, c.message, message)
		if path == "name" || path == "sourceRepo" { // are the entry's
			require.NoError(t, pushed)
		} else {
			require.Equal(t, err, pushed, "a version has the same rules")
		}
	}
}

// What is said twice is taken from the form's fields.
func TestEntryOfForm(t *testing.T) {
	t.Parallel()
	in := models.CreateEntryMetadata{Name: "pdf", Version: "1.0.0"}
	e, v, err := in.Entry(nil, nil)
	require.NoError(t, err)
	require.Equal(t, &models.RegistryEntry{Name: "pdf", EntryType: models.EntryTypeSkill, Visibility: models.VisibilityOrg}, e)
	require.Equal(t, models.NewVersion{Version: "1.0.0", Source: models.VersionSourceCli}, v)
	in.Visibility, in.SourceRepo = graphql.OmittableOf(new(models.VisibilityPublic)), graphql.OmittableOf(new("a/b"))
	e, v, err = in.Entry(nil, nil)
	require.NoError(t, err)
	require.Equal(t, models.VisibilityPublic, e.Visibility)
	require.Equal(t, new("a/b"), v.SourceRepo)
	e, v, err = in.Entry(new(models.VisibilityUnlisted), new("c/d"))
	require.NoError(t, err)
	require.Equal(t, models.VisibilityUnlisted, e.Visibility)
	require.Equal(t, new("c/d"), e.SourceRepo)
	require.Equal(t, new("c/d"), v.SourceRepo)
}

func TestDeviceRules(t *testing.T) {
	t.Parallel()
	const empty, control = "must not be empty", "must not contain control characters"
	for given, want := range map[string]string{
		"laptop": "", "My Laptop 🦊": "", strings.Repeat("é", 200): "", "": empty, "  ": empty, strings.Repeat("x", 201): "must be at most 200 characters long",
		"a\x00b": control, "a\nb": control, "\xff": "must be UTF-8",
	} {
		for _, err := range []error{
			models.CheckDevice(&given), models.InstallEntryInput{DeviceID: given}.Validate(),
		} {
			if want == "" {
				require.NoError(t, err)
				continue
			}
			path, message := refusal(t, err)
			require.Equal(t, "deviceId", path)
			require.Equal(t, want, message, "%q", given)
		}
	}
	for given, want := range map[string]string{"": "", "/home/me/.skills": "", strings.Repeat("x", 1001): "must be at most 1000 characters long", "a\x00": control} {
		err := models.InstallEntryInput{DeviceID: "d", InstallPath: graphql.OmittableOf(&given)}.Validate()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		path, message := refusal(t, err)
		require.Equal(t, []string{"installPath", want}, []string{path, message})
	}
}

func TestSyncRules(t *testing.T) {
	t.Parallel()
	report := func(n int, hash string) (in []*models.SyncInput) {
		for range n {
			in = append(in, &models.SyncInput{CurrentVersionHash: hash})
		}
		return in
	}
	require.NoError(t, models.CheckDevice(nil))
	require.NoError(t, models.CheckSync(nil))
	require.NoError(t, models.CheckSync(report(1000, strings.Repeat("x", 200))))
	path, message := refusal(t, models.CheckSync(report(1001, "none")))
	require.Equal(t, []string{"installations", "must be at most 1000 entries"}, []string{path, message})
	for given, want := range map[string]string{strings.Repeat("x", 201): "must be at most 200 characters long", "a\x00": "must not contain control characters", "\xff": "must be UTF-8"} {
		path, message := refusal(t, models.CheckSync(append(report(3, ""), report(1, given)...)))
		require.Equal(t, []string{"installations.3.currentVersionHash", want}, []string{path, message})
	}
}

// What a device is told follows from what it has and what is current.
func TestSyncEntry(t *testing.T) {
	t.Parallel()
	a, b := ids.ID{1}, ids.ID{2}
	for _, c := range []struct {
		current, held *ids.ID
		want          bool
	}{{nil, nil, false}, {nil, &a, false}, {&a, nil, true}, {&a, &a, false}, {&a, &b, true}} {
		s := models.SyncEntry{CurrentID: c.current, HeldID: c.held}
		require.Equal(t, c.want, s.HasUpdate())
		require.Nil(t, s.Revoked())
		s.IsRevoked = true
		require.Equal(t, new(true), s.Revoked())
	}
	require.Nil(t, (&models.SyncEntry{HeldHash: "none"}).HasHash())
	require.Nil(t, (&models.SyncEntry{}).HasHash())
	require.Equal(t, new("tag"), (&models.SyncEntry{HeldHash: "tag"}).HasHash())
}

func TestRegistryWords(t *testing.T) {
	t.Parallel()
	require.NoError(t, models.CheckReason(nil))
	require.NoError(t, models.CheckReason(new("two\nlines")))
	path, _ := refusal(t, models.CheckReason(new(strings.Repeat("x", 2001))))
	require.Equal(t, "reason", path)
	require.NoError(t, models.CheckWords(nil))
	require.NoError(t, models.CheckWords(new("")))
	for _, bad := range []string{strings.Repeat("x", 201), "a\x00", "\xff"} {
		path, _ := refusal(t, models.CheckWords(&bad))
		require.Equal(t, "query", path)
	}
	path, _ = refusal(t, models.EntryFilter{NameContains: graphql.OmittableOf(new(""))}.Validate())
	require.Equal(t, "filter.nameContains", path)
}
