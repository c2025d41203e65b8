package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// described makes a public entry.
func (w world) described(t *testing.T, org store.Org, name, description string) ids.ID {
	t.Helper()
	e := newEntry(name)
	e.Visibility, e.Description = models.VisibilityPublic, description
	out, err := w.create(t.Context(), org, e, newVersion("1.0.0"), name)
	require.NoError(t, err)
	return out.Entry.ID
}

func search(t *testing.T, org store.Org, words string) []string {
	t.Helper()
	page, err := org.PublicEntries(t.Context(), words, everything)
	require.NoError(t, err)
	total, err := page.TotalCount(t.Context())
	require.NoError(t, err)
	require.Len(t, page.Nodes, total)
	out := []string{}
	for _, e := range page.Nodes {
		out = append(out, e.Name)
	}
	return out
}

// What is called so comes first, then what has it in its name, then what tells of it.
func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, description := range map[string]string{
		"pdf":          "Reads and writes documents",
		"pdf-tools":    "Merge and split",
		"pdf_tools":    "Merge and split",
		"tools-pdf":    "Split and merge",
		"my-pdf-tools": "All of them",
		"mypdfs":       "What I keep",
		"spreadsheets": "Tables, and their export as pdf files",
		"slides":       "Makes slides out of notes",
		"fifty":        "50% of everything_else",
		"percent":      "150of everything-else",
		"kubernetes":   "Deploys containers to a cluster",
		"long-story":   strings.Repeat("word after word ", 200) + "and the needle",
		"strasse":      "Die Straße ist gesperrt",
	} {
		w.described(t, w.other, name, description)
	}

	for _, org := range []store.Org{w.acme, w.other} {
		require.Equal(t, "pdf", search(t, org, "pdf")[0])
		require.Equal(t, "pdf", search(t, org, "PDF")[0])
		require.Equal(t, "pdf", search(t, org, " pdf ")[0])
		found := search(t, org, "pdf")
		require.ElementsMatch(t, []string{"pdf-tools", "pdf_tools", "tools-pdf", "my-pdf-tools", "mypdfs"}, found[1:6], "names before descriptions")
		require.Equal(t, []string{"spreadsheets"}, found[6:])
		require.Equal(t, "pdf-tools", search(t, org, "pdf-tools")[0])
		require.Equal(t, "pdf_tools", search(t, org, "pdf_tools")[0])
		require.Equal(t, "tools-pdf", search(t, org, "tools-pdf")[0])
		require.Equal(t, "my-pdf-tools", search(t, org, "my-pdf-tools")[0])
		require.Equal(t, "pdf", search(t, org, "pdff")[0], "a slip of the finger")
		require.Equal(t, []string{"kubernetes"}, search(t, org, "kubernets"))
		require.Equal(t, []string{"kubernetes"}, search(t, org, "kubernetse"))
		require.Equal(t, []string{"kubernetes"}, search(t, org, "kuberentes"))
		require.Equal(t, []string{"kubernetes"}, search(t, org, "deploy containers"))
		require.Equal(t, []string{"kubernetes"}, search(t, org, "bernet"))
		require.Equal(t, []string{"long-story"}, search(t, org, "needle"))
		require.Equal(t, []string{"strasse"}, search(t, org, "straße"))
		require.Empty(t, search(t, org, "zzz"))
	}
	// Nothing in what somebody looks for has a meaning of its own.
	for words, want := range map[string][]string{
		"%": {"fifty"}, "50%": {"fifty"}, "_": {"fifty", "pdf_tools"}, "g_e": {"fifty"}, `\`: {}, `%%`: {}, `'`: {}, `";--`: {}, "f%y": {}, "p_f": {}, "50% of": {"fifty"},
	} {
		got := search(t, w.acme, words)
		slices.Sort(got)
		require.Equal(t, want, got, words)
	}
}

// Nobody finds what is not public: not in the list, not in its total, not by a cursor.
func TestSearchShowsNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shown := w.described(t, w.other, "needle-shown", "needle")
	w.entry(t, w.other, "needle-hidden", models.VisibilityOrg)
	w.entry(t, w.other, "needle-unlisted", models.VisibilityUnlisted)
	w.entry(t, w.acme, "needle-private", models.VisibilityOrg)
	for _, org := range []store.Org{w.acme, w.other} {
		for _, words := range []string{"", "needle", "hidden", "unlisted", "private"} {
			page, err := org.PublicEntries(t.Context(), words, models.Window{Limit: 1})
			require.NoError(t, err)
			total, err := page.TotalCount(t.Context())
			require.NoError(t, err)
			require.False(t, page.PageInfo.HasNextPage, words)
			require.Equal(t, words == "" || words == "needle", total == 1, words)
			require.Len(t, page.Nodes, total)
			if total > 0 {
				require.Equal(t, shown, page.Nodes[0].ID)
			}
		}
	}
	_, err := w.other.UpdateEntry(t.Context(), shown, models.UpdateEntryInput{Visibility: set(new(models.VisibilityUnlisted))})
	require.NoError(t, err)
	require.Empty(t, search(t, w.acme, "needle"), "and no longer")
}

// Pages are complete and repeat nothing, though many entries match equally well and were changed at the same moment.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	w, _ := newWorldWithClock(t)
	for n := range 25 {
		name := fmt.Sprintf("%c-entry", 'a'+n)
		description := "the same words"
		if n%5 == 0 {
			description = "the same words, and a word more"
		}
		w.described(t, []store.Org{w.acme, w.other}[n%2], name, description)
		w.entry(t, w.other, fmt.Sprintf("hidden-%c-same", 'a'+n), models.VisibilityOrg)
	}
	for _, words := range []string{"", "same words", "entry", "same"} {
		page, err := w.acme.PublicEntries(t.Context(), words, everything)
		require.NoError(t, err)
		want := []ids.ID{}
		for _, e := range page.Nodes {
			want = append(want, e.ID)
		}
		require.Len(t, want, 25, words)
		list[models.RegistryEntry]{
			func(ctx context.Context, win models.Window) (*models.RegistryEntryConnection, error) {
				return w.acme.PublicEntries(ctx, words, win)
			},
			func(e *models.RegistryEntry) ids.ID { return e.ID },
		}.check(t, want)
	}
}

// A search finds its entries by an index: where there is nothing else to read by, it reads a few of many.
func TestSearchReadsAnIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(t, w.other, "pdf", "")
	cfg, err := pgx.ParseConfig(w.url)
	require.NoError(t, err)
	dbtest.Exec(t, w.url, `INSERT INTO registry_entries (org_id, id, skill_id, name, entry_type, description, visibility, created_at, updated_at)
		SELECT e.org_id, gen_random_uuid(), e.skill_id, 'n' || n, 'SKILL', md5(n::text), 'PUBLIC', now(), now() FROM registry_entries e, generate_series(1, 100) n`)
	for _, sql := range []string{"DROP INDEX registry_entries_public", "ALTER DATABASE " + cfg.Database + " SET enable_seqscan = off", "ALTER DATABASE " + cfg.Database + " SET enable_indexscan = off"} {
		dbtest.Exec(t, w.url, sql)
	}
	s, err := store.Open(t.Context(), w.url, store.Options{MaxConns: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"pdf"}, search(t, s.Org(w.acme.ID(), w.owner.UserID), "pdf"))
	s.Close() // a connection tells what it has read when it ends
	conn, scans, read := w.conn(t), 0, 0
	for end := time.Now().Add(20 * time.Second); scans == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT idx_scan, idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'registry_entries_words'").Scan(&scans, &read))
	}
	require.Positive(t, scans)
	require.Less(t, read, 20)
}

func TestEntriesPages(t *testing.T) {
	t.Parallel()
	w, pass := newWorldWithClock(t)
	made := []*models.RegistryEntry{}
	for n := range 9 {
		pass(time.Duration(n%3) * time.Second)
		made = append(made, w.entry(t, w.acme, fmt.Sprintf("%c-entry", 'i'-n), models.AllVisibility[n%3]).Entry)
		w.entry(t, w.other, fmt.Sprintf("%c-entry", 'i'-n), models.VisibilityPublic)
	}
	id := func(e *models.RegistryEntry) ids.ID { return e.ID }
	in := func(by models.EntryOrder, f models.EntryFilter) list[models.RegistryEntry] {
		return list[models.RegistryEntry]{func(ctx context.Context, win models.Window) (*models.RegistryEntryConnection, error) {
			return w.acme.Entries(ctx, f, by, win)
		}, id}
	}
	sorted := func(cmp func(a, b *models.RegistryEntry) int) (out []ids.ID) {
		for _, e := range slices.SortedFunc(slices.Values(made), cmp) {
			out = append(out, e.ID)
		}
		return out
	}
	newer := func(a, b *models.RegistryEntry) int { return slices.Compare(b.ID[:], a.ID[:]) }
	in(models.EntryOrderCreatedAt, models.EntryFilter{}).check(t, sorted(newer))
	in(models.EntryOrderName, models.EntryFilter{}).check(t, sorted(func(a, b *models.RegistryEntry) int { return strings.Compare(a.Name, b.Name) }))
	in(models.EntryOrderUpdatedAt, models.EntryFilter{}).check(t, sorted(func(a, b *models.RegistryEntry) int {
		if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
			return c
		}
		return newer(a, b)
	}))
	page, err := w.acme.Entries(t.Context(), models.EntryFilter{Name: set(new("a-entry"))}, models.EntryOrderName, everything)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1)
	for contained, n := range map[string]int{"ENTRY": 9, "a-e": 1, "%": 0, "_": 0, "-": 9} {
		page, err := w.acme.Entries(t.Context(), models.EntryFilter{NameContains: set(&contained)}, models.EntryOrderName, everything)
		require.NoError(t, err)
		require.Len(t, page.Nodes, n, contained)
	}
	for _, v := range models.AllVisibility {
		page, err := w.acme.Entries(t.Context(), models.EntryFilter{Visibility: set(&v), EntryType: set(new(models.EntryTypeSkill))}, models.EntryOrderName, everything)
		require.NoError(t, err)
		require.Len(t, page.Nodes, 3)
	}
	page, err = w.acme.Entries(t.Context(), models.EntryFilter{EntryType: set(new(models.EntryTypeAgent))}, models.EntryOrderName, everything)
	requireEmptyPage(t, page, err)
}

// Versions are listed as they were pushed, or by semantic version; what is none comes last.
func TestVersionPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	highest := []string{
		"99999999999999999999999.0.0", "10.0.0", "2.0.0", "v1.10.0", "1.9.0", "1.0.0+second", "1.0.0+first", "1.0.0-rc.11", "1.0.0-rc.2", "1.0.0-rc", "1.0.0-beta.x", "1.0.0-beta.9", "1.0.0-1",
		"0.0.0-repohost.abcdef0", "0.0.0-repohost.0123456", "0.0.0-repohost.1234567",
		"september", "august", "1.0",
	}
	// In any order, but for those whose place is that of their push.
	ordered := []string{"1.0", "august", "september", "1.0.0+first", "1.0.0+second"}
	pushes := slices.Clone(highest)
	rand.Shuffle(len(pushes), func(i, j int) { pushes[i], pushes[j] = pushes[j], pushes[i] })
	next := 0
	for i, p := range pushes {
		if slices.Contains(ordered, p) {
			pushes[i], next = ordered[next], next+1
		}
	}
	var e *models.RegistryEntry
	made := map[string]ids.ID{}
	for _, p := range pushes {
		if e == nil {
			out, err := w.create(t.Context(), w.acme, newEntry("pdf"), newVersion(p), p)
			require.NoError(t, err)
			e, made[p] = out.Entry, out.Version.ID
			continue
		}
		made[p] = w.version(t, w.acme, e, p).ID
	}
	of := func(names []string) (out []ids.ID) {
		for _, n := range names {
			out = append(out, made[n])
		}
		return out
	}
	in := func(by models.VersionOrder) list[models.RegistryVersion] {
		return list[models.RegistryVersion]{func(ctx context.Context, win models.Window) (*models.RegistryVersionConnection, error) {
			all, err := w.acme.VersionsOf(ctx, []ids.ID{e.ID}, models.VersionList{Window: win, OrderBy: by})
			return all[e.ID], err
		}, func(v *models.RegistryVersion) ids.ID { return v.ID }}
	}
	in(models.VersionOrderVersion).check(t, of(highest))
	slices.Reverse(pushes)
	in(models.VersionOrderPushedAt).check(t, of(pushes))
}
