package repohost

import (
	"net/http"
	"time"
)

// Hurry makes the driver wait less.
func (d *App) Hurry(quick, slow time.Duration) { d.quick, d.slow = quick, slow }

// Redirect decides whether a redirect is followed.
func (d *App) Redirect(r *http.Request, via []*http.Request) error { return d.redirect(r, via) }
