package codehost_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"skillgraph/internal/apitest"
	"skillgraph/internal/repohost/gitrepo"
)

// A thousand deliveries for one repository are absorbed: none is lost, they are worked on in their order, and another organization
// does not have to wait for the end of them.
func TestBurst(t *testing.T) {
	t.Parallel()
	w := newIdleWorld(t)
	theirs, err := gitrepo.Commit(filepath.Join(w.Repos, "other", "forms.git"), "main", gitrepo.Files(map[string]string{"SKILL.md": "x"}), apitest.Noon)
	require.NoError(t, err)
	other := w.connectAs(t, "stranger", 2, "other", "other/forms")

	// In every block there are pushes of branches that nobody follows, which come in at the same time, and then one that publishes.
	const blocks, block = 20, 50
	send := func(key, repo string, installation int, ref, commit string) error {
		res := w.webhook(t, "push", key, fmt.Appendf(nil, `{"ref": %q, "before": %q, "after": %q, "repository": {"full_name": %q}, "installation": {"id": %d}}`, ref, zeros, commit, repo, installation))
		if res.Status != http.StatusAccepted {
			return fmt.Errorf("%s: %d %s", key, res.Status, res.Body)
		}
		return nil
	}
	commits := make([]string, blocks)
	for i := range commits {
		commits[i] = w.commit(t, fmt.Sprint("commit ", i))
		var g errgroup.Group
		g.SetLimit(8)
		for n := range block - 1 {
			g.Go(func() error {
				return send(fmt.Sprintf("%d %d", i, n), "acme/pdf", 1, fmt.Sprintf("refs/heads/branch-%d", n), commits[i])
			})
		}
		require.NoError(t, g.Wait())
		require.NoError(t, send(fmt.Sprint("main ", i), "acme/pdf", 1, "refs/heads/main", commits[i]))
		if i == blocks/2 {
			require.NoError(t, send("theirs", "other/forms", 2, "refs/heads/main", theirs))
		}
	}
	require.Equal(t, blocks*block+1, w.count(t, "SELECT count(*) FROM repo_deliveries WHERE state = 'PENDING'"))
	w.run(t)
	w.work(t)

	require.Equal(t, blocks+1, w.count(t, "SELECT count(*) FROM repo_deliveries WHERE state = 'DONE' AND outcome LIKE 'refs/heads/main: Published %'"))
	require.Equal(t, blocks*(block-1), w.count(t, "SELECT count(*) FROM repo_deliveries WHERE state = 'IGNORED' AND outcome = 'the connection follows the branch main'"))
	rows, err := w.Store.Pool().Query(t.Context(), "SELECT a.commit, a.link_id::text AS link FROM publish_attempts a ORDER BY a.number")
	require.NoError(t, err)
	attempts, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct{ Commit, Link string }])
	require.NoError(t, err)
	published, place := []string{}, 0
	for i, a := range attempts {
		if a.Link == other {
			place = i
		} else {
			published = append(published, a.Commit)
		}
	}
	require.Equal(t, commits, published, "in the order in which they were told")
	require.Less(t, place, blocks/2, "the other organization, whose push came in the middle, had its turn long before the end")
	require.Equal(t, "0.0.0-repohost."+commits[blocks-1][:7]+"*", w.versions(t)[0])
	require.Len(t, w.versions(t), blocks+1)
}
