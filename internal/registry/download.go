package registry

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"skillgraph/internal/blob"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/request"
)

// Path is where signed links lead, followed by the version's id.
const Path = "/downloads/"

// Download serves what a signed link leads to: the bytes, verified, or a part of them. Whoever deletes or revokes a version ends
// its links at once.
func (r *Registry) Download(fail func(http.ResponseWriter, *http.Request, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		err := r.download(w, req)
		if err == nil {
			return
		}
		if ctx := req.Context(); errs.CodeOf(err) == errs.Internal && ctx.Err() == nil {
			slog.ErrorContext(ctx, "download failed", "error", err, "request_id", request.ID(ctx)) // nobody else is told why
		}
		fail(w, req, err)
	}
}

func (r *Registry) download(w http.ResponseWriter, req *http.Request) error {
	ctx, q := req.Context(), req.URL.Query()
	id, err := ids.Parse(chi.URLParam(req, "version"))
	if err != nil {
		return errs.New(errs.NotFound, "There is nothing to download here")
	}
	ok, err := r.Links.Holds(ctx, id, q.Get("expires"), q.Get("signature"))
	if err != nil {
		return err
	}
	if !ok {
		return errs.New(errs.Forbidden, "This link does not work, or no longer: links last %d minutes. Ask for a new one", int(LinkLife.Minutes()))
	}
	d, err := r.Links.Store.Download(ctx, id)
	if err != nil {
		return err
	}
	content, err := r.Blobs.Open(ctx, d.ContentHash)
	if errors.Is(err, blob.ErrMissing) || errors.Is(err, blob.ErrCorrupt) {
		return fmt.Errorf("the archive of version %s: %w", id, err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	h := w.Header()
	h.Set("Content-Type", "application/gzip")
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", d.Name+"-"+d.Version+".tar.gz"))
	h.Set("ETag", `"`+d.ContentHash+`"`)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, req, "", content.ModTime(), content)
	return nil
}
