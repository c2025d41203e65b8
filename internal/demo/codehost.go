package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/internal/codehost"
	"skillgraph/internal/ids"
	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/gitrepo"
	"skillgraph/internal/store"
	"skillgraph/models"
)

const forgeRepo = orgName + "/csv-clean"

// csvSteps are an entry that moves into a repository: from then on commits publish prereleases and tags releases. A tag that was
// moved is refused.
var csvSteps = []step{
	{ago: 29, entry: "csv-clean", version: "0.9.0", words: "By hand, for the last time", files: body("Look at the first ten rows.")},
	{ago: 28, entry: "csv-clean", do: connect},
	{ago: 27, entry: "csv-clean", do: commit, files: body("Look at the first ten rows.", "Name what is odd before you change it.")},
	{ago: 26, entry: "csv-clean", do: tag, version: "v1.0.0"},
	{ago: 21, entry: "csv-clean", do: commit, files: with(body("Run scripts/profile.py first.", "Name what is odd before you change it."), "scripts/profile.py", "import csv\nimport sys\n")},
	{ago: 21, entry: "csv-clean", do: tag, version: "v1.1.0"},
	{ago: 15, entry: "csv-clean", do: commit, files: with(body("Run scripts/profile.py first.", "Never change a file in place."), "scripts/profile.py", "import csv\nimport sys\n")},
	{ago: 15, entry: "csv-clean", do: tag, version: "v1.1.0"}, // once more
	{ago: 14, entry: "csv-clean", do: tag, version: "v1.1.1"},
	{ago: 7, entry: "csv-clean", do: commit, files: with(body("Run scripts/profile.py first.", "Never change a file in place.", "Keep the order of columns."), "scripts/profile.py", "import csv\nimport sys\n")},
}

// forge is the code host while a repository is being filled.
type forge struct {
	store *store.Store
	host  *codehost.Host
	dir   string // of the repository
	head  string
	told  int
}

func newForge(s *store.Store, shelf *shelf, repos string) *forge {
	return &forge{
		store: s, dir: filepath.Join(repos, forgeRepo+".git"),
		host: &codehost.Host{Driver: repohost.NewLocal(repos), Registry: shelf.door, Grants: true},
	}
}

// connect makes the repository and connects it.
func (f *forge) connect(ctx context.Context, by actor, entry ids.ID, st step, shelf *shelf) (err error) {
	if f.head, err = gitrepo.Commit(f.dir, "main", gitrepo.Files(map[string]string{"README.md": "# " + st.entry + "\n"}), shelf.clock.Now()); err != nil {
		return err
	}
	_, err = f.host.Connect(ctx, by, models.ConnectRepositoryInput{
		EntryID: entry, InstallationID: 1, RepoFullName: forgeRepo, SkillPath: graphql.OmittableOf(new("skill")),
	})
	return err
}

// commit pushes a commit to the branch.
func (f *forge) commit(ctx context.Context, st step, shelf *shelf) (err error) {
	files := map[string]string{"README.md": "# " + st.entry + "\n"}
	for path, text := range st.contents() {
		files["skill/"+path] = text
	}
	if f.head, err = gitrepo.Commit(f.dir, "main", gitrepo.Files(files), shelf.clock.Now()); err != nil {
		return err
	}
	return f.push(ctx, "refs/heads/main")
}

// tag pushes a tag of the last commit.
func (f *forge) tag(ctx context.Context, name string) error {
	if err := gitrepo.Tag(f.dir, name, f.head); err != nil {
		return err
	}
	return f.push(ctx, "refs/tags/"+name)
}

// push tells of a push, and acts upon it.
func (f *forge) push(ctx context.Context, ref string) error {
	f.told++
	in := models.Received{Key: fmt.Sprint("demo-", f.told), Queue: forgeRepo, Event: "push", InstallationID: 1, RepoFullName: forgeRepo, Ref: ref}
	in.Payload = repohost.Delivery{Event: in.Event, InstallationID: in.InstallationID, RepoFullName: in.RepoFullName, Ref: ref, After: f.head}
	if _, err := f.store.Receive(ctx, in); err != nil {
		return err
	}
	d, err := f.store.NextDelivery(ctx, in.Queue)
	if err != nil || d == nil { // a server that runs already was faster
		return err
	}
	return f.host.Deliver(ctx, f.store, d)
}
