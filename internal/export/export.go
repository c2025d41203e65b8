// Package export streams all rows of a dataset to whoever may read them one by one.
package export

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"skillgraph/internal/errs"
	"skillgraph/internal/request"
	"skillgraph/internal/store"
	"skillgraph/internal/viewer"
)

// Path is where the datasets are.
const Path = "/v1/export/{dataset}"

// RowCount is the trailer that says how many rows were sent. Without it an export is not complete.
const RowCount = "X-Row-Count"

// Exports answers requests for exports. Fields with a zero value have sensible ones.
type Exports struct {
	Store *store.Store
	Clock func() time.Time // of the connection's deadlines: the wall clock
	Fail  func(http.ResponseWriter, *http.Request, error)
	Stall time.Duration // how long a client may take for the next bytes; 0: 30 s
	Life  time.Duration // how long an export may take, since it keeps the database from tidying up; 0: an hour

	busy gate
}

func (e *Exports) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := e.export(w, r); err != nil {
		e.Fail(w, r, err)
	}
}

// export sends the rows. What goes wrong once they are on their way can only be shown by breaking off: the body does not end as it
// should, and there is no trailer.
func (e *Exports) export(w http.ResponseWriter, r *http.Request) error {
	in, err := read(chi.URLParam(r, "dataset"), r)
	if err != nil {
		return err
	}
	who := viewer.From(r.Context())
	if err := e.busy.enter(who.OrgID); err != nil {
		return err
	}
	defer e.busy.leave(who.OrgID)
	life := orElse(e.Life, time.Hour)
	ctx, cancel := context.WithTimeout(r.Context(), life)
	defer cancel()
	out := newStream(w, r, in, e.Clock, orElse(e.Stall, 30*time.Second), life)
	rows, err := e.Store.Org(who.OrgID, who.UserID).Export(ctx, in, out)
	if err == nil {
		err = out.finish()
	}
	switch {
	case err == nil:
		w.Header().Set(RowCount, strconv.FormatInt(rows, 10))
		return nil
	case !out.started:
		if errs.CodeOf(err) == errs.Internal && ctx.Err() == nil {
			slog.ErrorContext(ctx, "export failed", "dataset", in.Dataset, "error", err, "request_id", request.ID(ctx)) // nobody else is told why
		}
		return err
	}
	slog.InfoContext(ctx, "export broken off", "dataset", in.Dataset, "error", err, "request_id", request.ID(ctx))
	panic(http.ErrAbortHandler)
}

func orElse(d, standard time.Duration) time.Duration {
	if d == 0 {
		return standard
	}
	return d
}
