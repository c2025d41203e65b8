package hosting_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/hosting"
	"skillgraph/internal/ids"
	"skillgraph/internal/repohost"
	"skillgraph/internal/skillmd"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// house is everything that folders need, on a database of the test's own.
type house struct {
	*hosting.Hosting
	store *store.Store
	org   store.Org
	blobs *blob.Store
	url   string
}

func newHouse(t *testing.T) house {
	t.Helper()
	h := house{url: dbtest.Database(t)}
	h.store = dbtest.Open(t, h.url, store.Options{MaxConns: 5})
	_, v := dbtest.Key(t, h.store, "acme", "owner@example.com", models.PlanTeam, models.RoleOwner)
	h.org, h.blobs = h.store.Org(v.OrgID, v.UserID), dbtest.Blobs(t, h.store)
	h.Hosting = hosting.New(h.blobs, repohost.NewLocal(t.TempDir()))
	return h
}

func uploadOf(content string) graphql.Upload {
	return graphql.Upload{File: bytes.NewReader([]byte(content)), Size: int64(len(content))}
}

// folder is an upload of files.
func folder(files map[string]string) models.UploadSourceInput {
	in := models.UploadSourceInput{Label: graphql.OmittableOf(new("folder"))}
	list := []*models.SourceFileInput{}
	for p, content := range files {
		list = append(list, &models.SourceFileInput{Path: p, Content: uploadOf(content)})
	}
	in.Files = graphql.OmittableOf(list)
	return in
}

func (h house) upload(t *testing.T, files map[string]string) *store.Saved {
	t.Helper()
	saved, err := h.Upload(t.Context(), h.org, folder(files))
	require.NoError(t, err)
	return saved
}

const skill = "---\nname: pdf-forms\ndescription: Fills in forms\n---\n"

func TestText(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	edge := strings.Repeat("ü", models.MaxText/2)
	s := h.upload(t, map[string]string{"SKILL.md": skill, "empty": "", "binary": "a\x00b", "latin": "\xfc", "edge": edge, "large": edge + "!", "z": "last"})
	for path, want := range map[string]*string{"SKILL.md": new(skill), "empty": new(""), "binary": nil, "latin": nil, "edge": &edge, "large": nil, "z": new("last")} {
		found, err := h.org.FileAt(t.Context(), []ids.ID{s.Snapshot.ID}, path)
		require.NoError(t, err)
		got, err := h.Text(t.Context(), found[s.Snapshot.ID])
		require.NoError(t, err)
		require.Equal(t, want, got, path)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	before := h.upload(t, map[string]string{"SKILL.md": skill + "one\ntwo\n", "binary": "\x00", "gone.txt": "gone\n", "large": strings.Repeat("x", models.MaxText+1), "same": "same"})
	after := h.upload(t, map[string]string{"SKILL.md": skill + "one\nthree\n", "binary": "text", "large": "small", "new.txt": "new", "same": "same"})
	d, err := h.Diff(t.Context(), h.org, before.Snapshot.ID, after.Snapshot.ID)
	require.NoError(t, err)
	require.Equal(t, [3]int{1, 1, 3}, [3]int{d.Added, d.Removed, d.Changed})
	want := map[string]*string{
		"SKILL.md": new("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -3,4 +3,4 @@\n description: Fills in forms\n ---\n one\n-two\n+three\n"),
		"binary":   nil,
		"gone.txt": new("--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"),
		"large":    nil,
		"new.txt":  new("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"),
	}
	require.Len(t, d.Files, len(want))
	for _, c := range d.Files {
		got, err := c.UnifiedDiff(t.Context())
		require.NoError(t, err)
		require.Equal(t, want[c.Path], got, c.Path)
	}
	none, err := h.Diff(t.Context(), h.org, after.Snapshot.ID, after.Snapshot.ID)
	require.NoError(t, err)
	require.Empty(t, none.Files)
	for _, unknown := range []ids.ID{before.Source.ID, {1}} {
		_, err = h.Diff(t.Context(), h.org, unknown, after.Snapshot.ID)
		require.Equal(t, errs.NotFound, errs.CodeOf(err))
		_, err = h.Diff(t.Context(), h.org, before.Snapshot.ID, unknown)
		require.Equal(t, errs.NotFound, errs.CodeOf(err))
	}
}

// A diff of everything is counted whole and shown in part.
func TestLargeDiff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	many := map[string]string{"SKILL.md": skill}
	for i := range 1500 {
		many[fmt.Sprintf("f/%04d", i)] = "x\n"
	}
	few, all := h.upload(t, map[string]string{"SKILL.md": skill}), h.upload(t, many)
	d, err := h.Diff(t.Context(), h.org, few.Snapshot.ID, all.Snapshot.ID)
	require.NoError(t, err)
	require.Equal(t, 1500, d.Added)
	require.Len(t, d.Files, 1000)
	for i, c := range d.Files {
		text, err := c.UnifiedDiff(t.Context())
		require.NoError(t, err)
		require.Equal(t, i < 100, text != nil, c.Path)
	}

	heavy := map[string]string{"SKILL.md": skill}
	for i := range 30 {
		heavy[fmt.Sprintf("f/%02d", i)] = fmt.Sprint(i, strings.Repeat("y\n", 95<<10)) // 190 KiB each
	}
	d, err = h.Diff(t.Context(), h.org, few.Snapshot.ID, h.upload(t, heavy).Snapshot.ID)
	require.NoError(t, err)
	shown := 0
	for _, c := range d.Files {
		text, err := c.UnifiedDiff(t.Context())
		require.NoError(t, err)
		if text != nil {
			shown++
		}
	}
	require.Equal(t, 21, shown, "what fits into 4 MiB")
}

func TestImportSuite(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	empty, err := h.org.CreateSource(t.Context(), &models.CloudSource{Label: "l", SourceType: models.SourceTypeUpload})
	require.NoError(t, err)
	_, err = h.ImportSuite(t.Context(), h.org, empty.ID, nil)
	require.EqualError(t, err, "has no snapshot yet")
	without := h.upload(t, map[string]string{"SKILL.md": skill, "evals/deep/a.json": "[]", "evals.json": "[]", "evals/a.yaml": ""})
	_, err = h.ImportSuite(t.Context(), h.org, without.Source.ID, nil)
	require.EqualError(t, err, "the current snapshot has no files evals/*.json")
	require.Equal(t, errs.Invalid, errs.CodeOf(err))

	s := h.upload(t, map[string]string{
		"SKILL.md":         skill,
		"evals/a.json":     `[{"query": "fill", "should_trigger": true}, {"query": "cook", "should_trigger": false}, {"prompt": "x"}]`,
		"evals/b.json":     `nonsense`,
		"evals/large.json": `"` + strings.Repeat("x", models.MaxEvals) + `"`,
	})
	got, err := h.ImportSuite(t.Context(), h.org, s.Source.ID, nil)
	require.NoError(t, err)
	require.Equal(t, "folder: evals", got.Suite.Name)
	require.Equal(t, &s.Source.ID, got.Suite.SourceID)
	require.Equal(t, models.SuiteSourceKindImported, got.Suite.SourceKind)
	require.Equal(t, 2, got.Suite.CaseCount)
	require.Equal(t, []*models.ImportedFile{
		{Path: "evals/a.json", Cases: 2, LeftOut: 1},
		{Path: "evals/b.json", Reason: new("it is not JSON")},
		{Path: "evals/large.json", Reason: new("it is larger than 1 MiB")},
	}, got.Files)
	_, err = h.ImportSuite(t.Context(), h.org, s.Source.ID, new(" "))
	require.Equal(t, errs.Invalid, errs.CodeOf(err))
}

// When the rules change, every snapshot gets a report by the new ones; one that cannot be read does not stand in the way.
func TestRevalidate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	fine, lost, broken := h.upload(t, map[string]string{"SKILL.md": skill}), h.upload(t, map[string]string{"SKILL.md": skill, "lost": ""}), h.upload(t, map[string]string{"README.md": "x"})
	done, err := h.Revalidate(t.Context(), h.store)
	require.NoError(t, err)
	require.Zero(t, done, "they were held against these very rules")

	dbtest.Exec(t, h.url, "UPDATE snapshots SET rules_version = 0; UPDATE validation_reports SET rules_version = 0, status = 'WARNING', issues = '[]'")
	require.NoError(t, h.blobs.Delete(t.Context(), lost.Snapshot.BlobHash))
	done, err = h.Revalidate(t.Context(), h.store)
	require.NoError(t, err)
	require.Equal(t, 2, done)
	reports, err := h.org.ReportsOfSnapshots(t.Context(), []ids.ID{fine.Snapshot.ID, lost.Snapshot.ID, broken.Snapshot.ID})
	require.NoError(t, err)
	require.Equal(t, models.ValidationStatusPassed, reports[fine.Snapshot.ID].Status)
	require.Equal(t, skillmd.Version, reports[fine.Snapshot.ID].RulesVersion)
	require.Equal(t, models.ValidationStatusFailed, reports[broken.Snapshot.ID].Status)
	require.Equal(t, broken.Report.Issues, reports[broken.Snapshot.ID].Issues)
	require.Equal(t, 0, reports[lost.Snapshot.ID].RulesVersion)
	done, err = h.Revalidate(t.Context(), h.store)
	require.NoError(t, err)
	require.Zero(t, done)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Revalidate(ctx, h.store)
	require.ErrorIs(t, err, context.Canceled)
}

// TestNothingIsLeftBehind watches the folder for temporary files, so it cannot run beside others.
func TestNothingIsLeftBehind(t *testing.T) {
	h := newHouse(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	_, err := w.Create("SKILL.md")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	gone, err := h.org.CreateSource(t.Context(), &models.CloudSource{Label: "l", SourceType: models.SourceTypeUpload})
	require.NoError(t, err)
	require.NoError(t, h.org.DeleteSource(t.Context(), gone.ID))
	for name, in := range map[string]models.UploadSourceInput{
		"fine":          folder(map[string]string{"SKILL.md": skill}),
		"refused":       folder(map[string]string{"SKILL.md": skill, "a": "", "A": ""}),
		"empty":         folder(map[string]string{".DS_Store": ""}),
		"a bomb":        folder(map[string]string{"a": strings.Repeat("\x00", 33<<20)}),
		"an archive":    {Label: graphql.OmittableOf(new("l")), File: graphql.OmittableOf(new(uploadOf(b.String())))},
		"no archive":    {Label: graphql.OmittableOf(new("l")), File: graphql.OmittableOf(new(uploadOf("nonsense")))},
		"not its skill": {Label: graphql.OmittableOf(new("l")), File: graphql.OmittableOf(new(uploadOf(b.String()))), SkillID: graphql.OmittableOf(&gone.ID)},
	} {
		_, err := h.Upload(t.Context(), h.org, in)
		require.Equal(t, name == "fine" || name == "an archive", err == nil, "%s: %v", name, err)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
}
