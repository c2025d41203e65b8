package store

import (
	"context"
	"time"

	"skillgraph/models"
)

// SpendCall counts a call of something that an organization may call so often in an hour of the clock, on all servers together: one
// statement decides. It is committed at once, so that a call counts whatever becomes of it.
func (o Org) SpendCall(ctx context.Context, name string, limit int) (models.Quota, error) {
	type row struct {
		Hour  time.Time `bun:"hour"`
		Calls int       `bun:"calls"`
	}
	hour := o.now().Truncate(time.Hour)
	// A server whose clock is behind counts in the hour that others have begun.
	rows, err := query[row](ctx, o.pg, `INSERT INTO call_counts AS t (org_id, name, hour, calls) VALUES ($1, $2, $3, 1)
		ON CONFLICT (org_id, name) DO UPDATE SET hour = greatest(t.hour, excluded.hour), calls = CASE WHEN t.hour < excluded.hour THEN 1 ELSE t.calls + 1 END
			WHERE t.hour < excluded.hour OR t.calls < $4
		RETURNING hour, calls`, o.id, name, hour, limit)
	q := models.Quota{Limit: limit, Reset: hour.Add(time.Hour).Sub(o.now())}
	if err != nil || len(rows) == 0 {
		return q, err
	}
	q.Allowed, q.Remaining, q.Reset = true, limit-rows[0].Calls, rows[0].Hour.Add(time.Hour).Sub(o.now())
	return q, nil
}
