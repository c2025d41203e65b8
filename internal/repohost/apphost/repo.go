package apphost

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// list pages through the repositories of an installation, five at a time at most.
func (h *Host) list(w http.ResponseWriter, r *http.Request, token issued) {
	dirs, _ := filepath.Glob(filepath.Join(h.Root, strings.ToLower(h.Installations[token.installation].Login), "*.git"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	const most = 5
	page = max(page, 1)
	if last := (len(dirs) + most - 1) / most; page < last {
		at := fmt.Sprintf("https://api.elsewhere.example%s?per_page=100&page=", r.URL.Path) // behind a proxy it does not know its address
		w.Header().Set("Link", fmt.Sprintf(`<%s%d>; rel="next", <%s%d>; rel="last"`, at, page+1, at, last))
	}
	repos := []any{}
	for _, dir := range dirs[min((page-1)*most, len(dirs)):min(page*most, len(dirs))] {
		repos = append(repos, describe(h.Installations[token.installation].Login, strings.TrimSuffix(filepath.Base(dir), ".git")))
	}
	Reply(w, http.StatusOK, map[string]any{"total_count": len(dirs), "repositories": repos})
}

func describe(owner, name string) map[string]any {
	out := map[string]any{
		"id": int64(1)<<40 + int64(len(name)), "name": name, "full_name": owner + "/" + name, "owner": map[string]any{"login": owner},
		"private": name != "open", "default_branch": "main", "html_url": "https://code.example.com/" + owner + "/" + name, "pushed_at": Noon.Format(time.RFC3339),
	}
	switch name {
	case "inside":
		out["visibility"] = "internal"
	case "empty":
		out["pushed_at"] = nil
	}
	return out
}

// repository answers what is asked about a repository: repos, owner, name, and more.
func (h *Host) repository(w http.ResponseWriter, r *http.Request, token issued, path []string) {
	if len(path) < 3 || path[0] != "repos" {
		h.t.Errorf("%s %s", r.Method, r.URL)
		return
	}
	dir := filepath.Join(h.Root, strings.ToLower(path[1]), path[2]+".git")
	repo, err := git.PlainOpen(dir)
	if err != nil || !strings.EqualFold(path[1], h.Installations[token.installation].Login) {
		Fail(w, http.StatusNotFound, "Not Found")
		return
	}
	what := strings.Join(path[3:], "/")
	switch {
	case what == "":
		h.allow(token, "metadata", "read")
		Reply(w, http.StatusOK, describe(path[1], path[2]))
	case strings.HasPrefix(what, "statuses/"), strings.Contains(what, "check-runs"):
		h.write(w, r, token, repo, path[3:])
	case r.Method != http.MethodGet:
		h.t.Errorf("%s %s", r.Method, r.URL)
	default:
		h.allow(token, "contents", "read")
		h.read(w, r, repo, path)
	}
}

func (h *Host) read(w http.ResponseWriter, r *http.Request, repo *git.Repository, path []string) {
	what, name := strings.Join(path[3:min(5, len(path))], "/"), path[len(path)-1]
	hash := plumbing.NewHash(name)
	switch {
	case path[3] == "tarball":
		if _, err := repo.CommitObject(hash); err != nil {
			Fail(w, http.StatusNotFound, "Not Found")
			return
		}
		http.Redirect(w, r, h.files.URL+"/"+path[1]+"/"+path[2]+"/"+name+"?token=once", http.StatusFound)
	case what == "git/matching-refs":
		prefix, _ := url.PathUnescape(strings.Join(path[5:], "/"))
		h.refs(w, repo, "refs/"+prefix)
	case what == "git/tags":
		tag, err := repo.TagObject(hash)
		if err != nil {
			Fail(w, http.StatusNotFound, "Not Found")
			return
		}
		out := map[string]any{"tag": tag.Name, "sha": name, "object": map[string]string{"type": tag.TargetType.String(), "sha": tag.Target.String()}}
		if !tag.Tagger.When.IsZero() {
			out["tagger"] = map[string]any{"name": tag.Tagger.Name, "date": tag.Tagger.When.Format(time.RFC3339)}
		}
		Reply(w, http.StatusOK, out)
	case what == "git/commits":
		c, err := repo.CommitObject(hash)
		if err != nil {
			Fail(w, http.StatusNotFound, "Not Found")
			return
		}
		Reply(w, http.StatusOK, map[string]any{"sha": name, "committer": map[string]any{"date": c.Committer.When.Format(time.RFC3339)}})
	default:
		h.t.Errorf("%s %s", r.Method, r.URL)
	}
}

func (h *Host) refs(w http.ResponseWriter, repo *git.Repository, prefix string) {
	if _, err := repo.Head(); err != nil {
		Fail(w, http.StatusConflict, "Git Repository is empty.")
		return
	}
	out := []any{}
	refs, err := repo.References()
	if err != nil {
		h.t.Error(err)
		return
	}
	_ = refs.ForEach(func(ref *plumbing.Reference) error {
		if strings.HasPrefix(ref.Name().String(), prefix) {
			o, err := repo.Object(plumbing.AnyObject, ref.Hash())
			if err != nil {
				return err
			}
			out = append(out, map[string]any{"ref": ref.Name(), "object": map[string]string{"type": o.Type().String(), "sha": ref.Hash().String()}})
		}
		return nil
	})
	Reply(w, http.StatusOK, out)
}

// serveFile hands out archives to whoever has the link, and wants no token: it is another host.
func (h *Host) serveFile(w http.ResponseWriter, r *http.Request) {
	for _, header := range []string{"Authorization", "Referer", "Cookie"} {
		if r.Header.Get(header) != "" {
			h.t.Errorf("%s is sent to another host", header)
		}
	}
	path := strings.Split(r.URL.Path, "/")
	cmd := exec.CommandContext(r.Context(), "git", "archive", "--format=tar.gz", fmt.Sprintf("--prefix=%s-%s-%.7s/", path[1], path[2], path[3]), path[3])
	cmd.Dir = filepath.Join(h.Root, strings.ToLower(path[1]), path[2]+".git")
	var made bytes.Buffer
	cmd.Stdout = &made
	if err := cmd.Run(); err != nil {
		h.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/x-gzip")
	_, _ = io.Copy(w, &made)
}

// write takes statuses and check-runs.
func (h *Host) write(w http.ResponseWriter, r *http.Request, token issued, repo *git.Repository, path []string) {
	what := r.Method + " " + path[0]
	if path[0] != "check-runs" {
		if _, err := repo.CommitObject(plumbing.NewHash(path[1])); err != nil {
			Fail(w, http.StatusUnprocessableEntity, "No commit found for SHA: "+path[1])
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch what {
	case "POST statuses":
		h.allow(token, "statuses", "write")
		s := map[string]string{}
		h.body(r, &s)
		h.statuses = append(h.statuses, s)
		Reply(w, http.StatusCreated, map[string]any{"id": len(h.statuses)})
	case "GET commits":
		h.allow(token, "checks", "write")
		if r.URL.Query().Get("filter") != "all" {
			h.t.Error("only the latest check-runs are asked for")
		}
		found := slices.DeleteFunc(slices.Clone(h.checkRuns), func(c CheckRun) bool { return c.HeadSHA != path[1] || c.Name != r.URL.Query().Get("check_name") })
		Reply(w, http.StatusOK, map[string]any{"total_count": len(found), "check_runs": found})
	case "POST check-runs":
		h.allow(token, "checks", "write")
		c := CheckRun{}
		h.body(r, &c)
		c.ID = int64(1000 + len(h.checkRuns))
		h.checkRuns = append(h.checkRuns, c)
		Reply(w, http.StatusCreated, c)
	case "PATCH check-runs":
		h.allow(token, "checks", "write")
		i := slices.IndexFunc(h.checkRuns, func(c CheckRun) bool { return strconv.FormatInt(c.ID, 10) == path[1] })
		c := CheckRun{}
		h.body(r, &c)
		if c.HeadSHA != "" || c.ID != 0 {
			h.t.Errorf("a check-run keeps its commit and its id: %+v", c)
		}
		c.ID, c.HeadSHA = h.checkRuns[i].ID, h.checkRuns[i].HeadSHA
		h.checkRuns[i] = c
		Reply(w, http.StatusOK, c)
	default:
		h.t.Errorf("%s %s", r.Method, r.URL)
	}
}
