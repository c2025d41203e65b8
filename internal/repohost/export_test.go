package repohost

import "time"

// Hurry makes the driver wait less.
func (d *App) Hurry(quick, slow time.Duration) { d.quick, d.slow = quick, slow }
