package store

import (
	"context"
	"time"

	"skillgraph/internal/ids"
)

const (
	pruneBatch = 500
	eventLife  = 365 * 24 * time.Hour
)

// sessionTables hold raw records by session; the figures that readers see are not among them and stay.
var sessionTables = []string{"prompts", "invocations", "execution_facts", "gradings", "improvement_signals", "session_skills", "sessions"}

// Prune deletes raw telemetry that is older than the retention, whole sessions at a time, and events that are older than a
// year, in small transactions that hold nobody up. It returns how many sessions and events are gone.
func (s *Store) Prune(ctx context.Context) (sessions, events int, err error) {
	cutoff := s.now().Add(-s.options.Retention)
	for {
		n, err := s.pruneSessions(ctx, cutoff)
		sessions += n
		if err != nil || n < pruneBatch {
			if err != nil {
				return sessions, events, err
			}
			break
		}
	}
	for {
		n, err := exec(ctx, s.pool, `DELETE FROM events WHERE (org_id, id) IN (SELECT org_id, id FROM events WHERE created_at < $1 LIMIT $2)`, s.now().Add(-eventLife), pruneBatch)
		events += int(n)
		if err != nil || n < pruneBatch {
			_, pushErr := exec(ctx, s.pool, "DELETE FROM pushes WHERE received_at < $1", cutoff)
			if err == nil {
				err = pushErr
			}
			return sessions, events, err
		}
	}
}

// pruneSessions deletes some sessions that nothing was heard of since the cutoff, with everything that belongs to them.
func (s *Store) pruneSessions(ctx context.Context, cutoff time.Time) (int, error) {
	type row struct {
		OrgID     ids.ID `bun:"org_id"`
		SessionID string `bun:"session_id"`
	}
	old, err := query[row](ctx, s.pool, `SELECT t.org_id, t.session_id FROM sessions t
		WHERE t.received_at < $1 AND coalesce(t.ended_at, t.started_at, t.received_at) < $1 ORDER BY t.received_at LIMIT $2`, cutoff, pruneBatch)
	if err != nil {
		return 0, err
	}
	byOrg := map[ids.ID][]string{}
	for _, r := range old {
		byOrg[r.OrgID] = append(byOrg[r.OrgID], r.SessionID)
	}
	for org, names := range byOrg {
		err := s.Org(org, ids.ID{}).tx(ctx, func(o Org) error {
			if err := o.lockTelemetry(ctx); err != nil {
				return err
			}
			for _, table := range sessionTables {
				if _, err := exec(ctx, o.pg, "DELETE FROM "+table+" WHERE org_id = $1 AND session_id = ANY($2)", o.id, names); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return len(old), nil
}
