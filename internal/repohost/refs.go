package repohost

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// The host's words for a ref and for what refs and annotated tags lead to.
type (
	remoteRef struct {
		Ref    string       `json:"ref"`
		Object remoteObject `json:"object"`
	}
	remoteObject struct {
		Type string `json:"type"`
		SHA  string `json:"sha"`
	}
	remoteTag struct {
		Object remoteObject `json:"object"`
		Tagger signature    `json:"tagger"`
	}
	signature struct {
		Date time.Time `json:"date"`
	}
)

// ref is the ref of exactly that name, or errNoCommit.
func (d *App) ref(ctx context.Context, a Account, repo string, name plumbing.ReferenceName) (remoteRef, error) {
	if name.Validate() != nil {
		return remoteRef{}, errNoCommit
	}
	refs, err := d.refs(ctx, a, repo, strings.TrimPrefix(name.String(), "refs/"))
	if err != nil {
		return remoteRef{}, err
	}
	i := slices.IndexFunc(refs, func(r remoteRef) bool { return r.Ref == name.String() })
	if i < 0 {
		return remoteRef{}, errNoCommit
	}
	return refs[i], nil
}

// refs lists the refs whose names begin so, after "refs/".
func (d *App) refs(ctx context.Context, a Account, repo, prefix string) (out []remoteRef, err error) {
	parts := strings.Split(prefix, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	at, err := d.repo(a, repo, "/git/matching-refs/"+strings.Join(parts, "/")+"?per_page=100")
	if err != nil {
		return nil, err
	}
	err = pages(ctx, d, a, reading, at, func(p []remoteRef) { out = append(out, p...) })
	if refused(err, http.StatusConflict) { // the repository is empty
		return nil, nil
	}
	return out, d.explain(a, repo, err)
}

// peel follows annotated tags to a commit, or fails with errNoCommit. At is when the first of them was made, if there was one.
func (d *App) peel(ctx context.Context, a Account, repo string, o remoteObject) (commit remoteObject, at time.Time, err error) {
	for range tries {
		if o.Type != "tag" {
			break
		}
		tag, err := remember(d.tags, o.SHA, func() (t remoteTag, err error) { return t, d.object(ctx, a, repo, "tags", o.SHA, &t) })
		if err != nil {
			return o, at, err
		}
		if at.IsZero() {
			at = tag.Tagger.Date.UTC()
		}
		o = tag.Object
	}
	if o.Type != "commit" {
		return o, at, errNoCommit
	}
	return o, at, nil
}

// committed is when a commit was made.
func (d *App) committed(ctx context.Context, a Account, repo, sha string) (time.Time, error) {
	return remember(d.commits, sha, func() (time.Time, error) {
		var c struct {
			Committer signature `json:"committer"`
		}
		err := d.object(ctx, a, repo, "commits", sha, &c)
		if err == nil && c.Committer.Date.IsZero() {
			err = senseless()
		}
		return c.Committer.Date.UTC(), err
	})
}

func (d *App) object(ctx context.Context, a Account, repo, kind, sha string, out any) error {
	at, err := d.repo(a, repo, "/git/"+kind+"/"+url.PathEscape(sha))
	if err == nil {
		_, err = d.call(ctx, a, reading, http.MethodGet, at, nil, out)
	}
	return d.explain(a, repo, err)
}
