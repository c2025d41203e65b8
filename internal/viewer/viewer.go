// Package viewer finds out who is asking, before anything else happens.
package viewer

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

type ctxKey struct{}

// From is who is asking. It is there behind every route that needs a key.
func From(ctx context.Context) *models.Viewer {
	v, _ := ctx.Value(ctxKey{}).(*models.Viewer)
	return v
}

// With is for code that asks on behalf of somebody.
func With(ctx context.Context, v *models.Viewer) context.Context {
	return context.WithValue(ctx, ctxKey{}, v)
}

const (
	// fresh is how long an answer of the database is believed: a revoked key is refused everywhere within 5 seconds.
	fresh = 3 * time.Second
	// touchEvery is how often it is written down that a key was used.
	touchEvery = time.Minute
	maxCached  = 100_000
)

// Keys turns API keys into viewers and remembers them for a few seconds, so that a busy client does not cost a
// statement a request.
type Keys struct {
	store *store.Store
	now   func() time.Time

	mu    sync.Mutex
	known map[string]entry
	used  map[ids.ID]time.Time // when each key was last written down as used
}

type entry struct {
	viewer *models.Viewer
	until  time.Time
}

// NewKeys reads keys from the store.
func NewKeys(s *store.Store, now func() time.Time) *Keys {
	return &Keys{store: s, now: now, known: map[string]entry{}, used: map[ids.ID]time.Time{}}
}

// Viewer is who a key stands for.
func (k *Keys) Viewer(ctx context.Context, key string) (*models.Viewer, error) {
	if key == "" {
		return nil, errs.New(errs.Unauthenticated, "An API key is needed: send the header Authorization: Bearer <key>")
	}
	if !models.LooksLikeKey(key) {
		return nil, errs.New(errs.Unauthenticated, "This is not an API key of skillgraph, which begins with sg_live_")
	}
	hash, now := string(models.HashKey(key)), k.now()
	k.mu.Lock()
	e, ok := k.known[hash]
	k.mu.Unlock()
	if ok && now.Before(e.until) {
		return e.viewer, nil
	}
	v, err := k.store.Viewer(ctx, key)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	if len(k.known) >= maxCached {
		clear(k.known)
		clear(k.used)
	}
	k.known[hash] = entry{v, now.Add(fresh)}
	touch := now.Sub(k.used[v.KeyID]) >= touchEvery
	if touch {
		k.used[v.KeyID] = now
	}
	k.mu.Unlock()
	if touch {
		if err := k.store.Touch(ctx, []ids.ID{v.KeyID}, now); err != nil {
			slog.WarnContext(ctx, "could not note the use of a key", "error", err)
		}
	}
	return v, nil
}

// Middleware answers 401 through deny unless the request carries a valid key.
func (k *Keys) Middleware(deny func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v, err := k.Viewer(r.Context(), KeyOf(r))
			if err != nil {
				if errs.CodeOf(err) == errs.Unauthenticated {
					w.Header().Set("WWW-Authenticate", "Bearer")
				}
				deny(w, r, err)
				return
			}
			next.ServeHTTP(w, r.WithContext(With(r.Context(), v)))
		})
	}
}

// KeyOf is the key that a request carries, or "".
func KeyOf(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}
