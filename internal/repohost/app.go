package repohost

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
	"skillgraph/models"
)

var (
	segment = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
	isHash  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

const (
	atOnce     = 4 // calls for one list of tags
	maxSummary = 65_535
	maxStatus  = 140
)

var _ Driver = (*App)(nil)

// repo is the address of something in a repository of the account. An installation also reads what is public elsewhere, which
// nobody has connected.
func (d *App) repo(a Account, repo, rest string) (string, error) {
	owner, name, _ := strings.Cut(repo, "/")
	for _, s := range []string{owner, name} {
		if !segment.MatchString(s) || s == "." || s == ".." {
			return "", noRepository(a, repo)
		}
	}
	if !strings.EqualFold(owner, a.Login) {
		return "", noRepository(a, repo)
	}
	return d.base + "/repos/" + repo + rest, nil
}

// commit is the address of something about a commit.
func (d *App) commit(a Account, repo, before, commit, after string) (string, error) {
	if !isHash.MatchString(commit) {
		return "", noCommit(repo, commit)
	}
	return d.repo(a, repo, before+commit+after)
}

// Repositories lists what the installation may read.
func (d *App) Repositories(ctx context.Context, a Account) ([]Repository, error) {
	type page struct {
		Repositories []struct {
			ID    int64 `json:"id"`
			Owner struct {
				Login string `json:"login"`
			} `json:"owner"`
			Name          string     `json:"name"`
			Private       bool       `json:"private"`
			Visibility    string     `json:"visibility"`
			DefaultBranch string     `json:"default_branch"`
			HTMLURL       string     `json:"html_url"`
			PushedAt      *time.Time `json:"pushed_at"`
		} `json:"repositories"`
	}
	out := []Repository{}
	err := pages(ctx, d, a, reading, d.base+"/installation/repositories?per_page=100", func(p page) {
		for _, r := range p.Repositories {
			repo := Repository{r.ID, r.Owner.Login, r.Name, r.DefaultBranch, r.Visibility, r.HTMLURL, r.PushedAt}
			if repo.Visibility == "" {
				repo.Visibility = map[bool]string{true: "private", false: "public"}[r.Private]
			}
			out = append(out, repo)
		}
	})
	slices.SortFunc(out, func(a, b Repository) int { return strings.Compare(a.FullName(), b.FullName()) })
	return out, d.explain(a, "", err)
}

// Resolve asks for the head of a branch.
func (d *App) Resolve(ctx context.Context, a Account, repo, branch string) (string, error) {
	ref, err := d.ref(ctx, a, repo, plumbing.NewBranchReferenceName(branch))
	if errors.Is(err, errNoCommit) || err == nil && ref.Object.Type != "commit" {
		return "", noBranch(repo, branch)
	}
	return ref.Object.SHA, err
}

// ResolveTag asks for a tag and, when it is annotated, where it leads.
func (d *App) ResolveTag(ctx context.Context, a Account, repo, tag string) (string, error) {
	ref, err := d.ref(ctx, a, repo, plumbing.NewTagReferenceName(tag))
	if err == nil {
		ref.Object, _, err = d.peel(ctx, a, repo, ref.Object)
	}
	if errors.Is(err, errNoCommit) {
		return "", noTag(repo, tag)
	}
	return ref.Object.SHA, err
}

// Tags asks for all tags, and for the time of each. What it has learnt it remembers: neither a commit nor an annotated tag ever
// changes.
func (d *App) Tags(ctx context.Context, a Account, repo string) ([]Tag, error) {
	refs, err := d.refs(ctx, a, repo, "tags/")
	if err != nil {
		return nil, err
	}
	out := make([]Tag, len(refs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, ref := range refs {
		g.Go(func() error {
			commit, at, err := d.peel(ctx, a, repo, ref.Object)
			if err == nil && at.IsZero() {
				at, err = d.committed(ctx, a, repo, commit.SHA)
			}
			if errors.Is(err, errNoCommit) {
				return nil
			}
			out[i] = Tag{strings.TrimPrefix(ref.Ref, "refs/tags/"), commit.SHA, at}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(t Tag) bool { return t.Commit == "" })
	slices.SortFunc(out, oldest)
	return out, nil
}

// Read unpacks the archive that the host makes of a commit. What .gitattributes leaves out of archives is not in it.
func (d *App) Read(ctx context.Context, a Account, repo, commit, folder string, visit archive.Visit) ([]models.SkippedEntry, error) {
	at, err := d.commit(a, repo, "/tarball/", commit, "")
	if err != nil {
		return nil, err
	}
	ctx, cancel := within(ctx, d.slow)
	defer cancel()
	res, err := d.as(ctx, a, reading, http.MethodGet, at, nil)
	if refused(err, http.StatusNotFound) && d.readable(ctx, a, repo, reading) {
		return nil, noCommit(repo, commit)
	}
	if err != nil {
		return nil, d.explain(a, repo, err)
	}
	defer res.Body.Close()
	body := &watched{Reader: res.Body}
	u := &unpacking{visit: visit}
	found, err := archive.Tree(body, folder, u.file, u.skip)
	slices.SortFunc(u.skipped, func(a, b models.SkippedEntry) int { return strings.Compare(a.Path, b.Path) })
	switch {
	case body.err != nil:
		return nil, d.broken(ctx, body.err)
	case u.failed != nil:
		return nil, u.failed
	case errs.CodeOf(err) == errs.Invalid:
		return nil, errs.New(errs.Conflict, "The repository %s cannot be read at commit %.7s: its archive %v", repo, commit, err)
	case err == nil && !found:
		return nil, noFolder(repo, commit, folder)
	}
	return u.skipped, err
}

// PostStatus posts a commit status.
func (d *App) PostStatus(ctx context.Context, a Account, repo, commit string, s Status) error {
	at, err := d.commit(a, repo, "/statuses/", commit, "")
	if err != nil {
		return err
	}
	_, err = d.call(ctx, a, statuses, http.MethodPost, at, struct {
		Context     string `json:"context"`
		State       string `json:"state"`
		Description string `json:"description,omitempty"`
		TargetURL   string `json:"target_url,omitempty"`
	}{s.Context, s.State, clip(s.Description, maxStatus), s.TargetURL}, nil)
	return d.posted(ctx, a, repo, statuses, err)
}

// PostCheckRun looks for the check-run that it may have posted before, and changes that, or posts it.
func (d *App) PostCheckRun(ctx context.Context, a Account, repo, commit string, c CheckRun) (string, error) {
	at, err := d.repo(a, repo, "/check-runs")
	if err != nil {
		return "", err
	}
	id, err := d.checkRun(ctx, a, repo, commit, c)
	if err != nil {
		return "", d.posted(ctx, a, repo, checks, err)
	}
	method, head := http.MethodPost, commit
	if id != 0 {
		method, head, at = http.MethodPatch, "", at+"/"+strconv.FormatInt(id, 10)
	}
	type output struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
	}
	var made struct {
		ID int64 `json:"id"`
	}
	_, err = d.call(ctx, a, checks, method, at, struct {
		Name       string `json:"name"`
		HeadSHA    string `json:"head_sha,omitempty"`
		ExternalID string `json:"external_id"`
		Status     string `json:"status"`
		Conclusion string `json:"conclusion"`
		DetailsURL string `json:"details_url,omitempty"`
		Output     output `json:"output"`
	}{c.Name, head, c.ExternalID, "completed", c.Conclusion, c.DetailsURL, output{c.Title, clip(c.Summary, maxSummary)}}, &made)
	if err != nil {
		return "", d.posted(ctx, a, repo, checks, err)
	}
	return strconv.FormatInt(made.ID, 10), nil
}

// checkRun is the number of the one that is there, or 0.
func (d *App) checkRun(ctx context.Context, a Account, repo, commit string, c CheckRun) (id int64, err error) {
	at, err := d.commit(a, repo, "/commits/", commit, "/check-runs?filter=all&per_page=100&check_name="+url.QueryEscape(c.Name))
	if err != nil {
		return 0, err
	}
	type page struct {
		CheckRuns []struct {
			ID         int64  `json:"id"`
			ExternalID string `json:"external_id"`
		} `json:"check_runs"`
	}
	err = pages(ctx, d, a, checks, at, func(p page) {
		for _, r := range p.CheckRuns {
			if r.ExternalID == c.ExternalID {
				id = r.ID
			}
		}
	})
	return id, err
}

// posted says why something could not be posted. A permission that the account has not given is a 403 or, where the host hides
// what it is about, a 404; and a host that has no such thing at all has no page for it either.
func (d *App) posted(ctx context.Context, a Account, repo string, s scope, err error) error {
	if refused(err, http.StatusForbidden) || refused(err, http.StatusNotFound) && d.readable(ctx, a, repo, s) {
		return ErrUnsupported
	}
	return d.explain(a, repo, err)
}

// readable reports whether the installation sees the repository at all.
func (d *App) readable(ctx context.Context, a Account, repo string, s scope) bool {
	at, err := d.repo(a, repo, "")
	if err == nil {
		_, err = d.call(ctx, a, s, http.MethodGet, at, nil, nil)
	}
	return err == nil
}

// clip shortens a text to what the host takes.
func clip(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// unpacking shows an archive to a visitor.
type unpacking struct {
	visit   archive.Visit
	failed  error // of the visitor's own making
	skipped []models.SkippedEntry
}

func (u *unpacking) file(path string, size int64, content io.Reader) error {
	c := &watched{Reader: content}
	err := u.visit(path, size, c)
	if c.err != nil {
		return c.err
	}
	u.failed = err
	return err
}

func (u *unpacking) skip(path, kind string) {
	if len(u.skipped) < models.MaxSkipped {
		u.skipped = append(u.skipped, models.SkippedEntry{Path: path, Kind: kind})
	}
}

// watched remembers how a reader failed, whatever is made of that on the way.
type watched struct {
	io.Reader
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
