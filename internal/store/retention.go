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

// rawTimes is when the records of each table happened.
var rawTimes = map[string]string{
	"prompts": "occurred_at", "invocations": "occurred_at", "execution_facts": "occurred_at", "gradings": "graded_at", "improvement_signals": "occurred_at",
}

// noneSince makes sure that no record of a session is from after $1.
const noneSince = `
	AND NOT EXISTS (SELECT FROM prompts r WHERE r.org_id = t.org_id AND r.session_id = t.session_id AND r.occurred_at >= $1)
	AND NOT EXISTS (SELECT FROM invocations r WHERE r.org_id = t.org_id AND r.session_id = t.session_id AND r.occurred_at >= $1)
	AND NOT EXISTS (SELECT FROM execution_facts r WHERE r.org_id = t.org_id AND r.session_id = t.session_id AND r.occurred_at >= $1)
	AND NOT EXISTS (SELECT FROM gradings r WHERE r.org_id = t.org_id AND r.session_id = t.session_id AND r.graded_at >= $1)
	AND NOT EXISTS (SELECT FROM improvement_signals r WHERE r.org_id = t.org_id AND r.session_id = t.session_id AND r.occurred_at >= $1)`

// Prune deletes raw telemetry and signals that are older than the retention, whole sessions at a time, and events that are older than a
// year, in small transactions that hold nobody up. It returns how many sessions and events are gone.
func (s *Store) Prune(ctx context.Context) (sessions, events int, err error) {
	cutoff := s.now().Add(-s.options.Retention)
	if sessions, err = inBatches(func() (int, error) { return s.pruneSessions(ctx, cutoff) }); err != nil {
		return sessions, 0, err
	}
	rows := func(sql string, before time.Time) (int, error) {
		return inBatches(func() (int, error) {
			n, err := exec(ctx, s.pool, sql, before, pruneBatch)
			return int(n), err
		})
	}
	for table, at := range rawTimes { // what waits for a session that never came
		if _, err = rows("DELETE FROM "+table+" WHERE ctid IN (SELECT t.ctid FROM "+table+" t WHERE t."+at+` < $1
			AND NOT EXISTS (SELECT FROM sessions s WHERE s.org_id = t.org_id AND s.session_id = t.session_id) LIMIT $2)`, cutoff); err != nil {
			return sessions, 0, err
		}
	}
	if _, err = rows("DELETE FROM pushes WHERE (org_id, push_id) IN (SELECT org_id, push_id FROM pushes WHERE received_at < $1 LIMIT $2)", cutoff); err != nil {
		return sessions, 0, err
	}
	if _, err = rows(pruneSignals, cutoff); err != nil {
		return sessions, 0, err
	}
	events, err = rows("DELETE FROM events WHERE (org_id, id) IN (SELECT org_id, id FROM events WHERE created_at < $1 LIMIT $2)", s.now().Add(-eventLife))
	return sessions, events, err
}

// inBatches repeats what deletes a batch until one is not full.
func inBatches(batch func() (int, error)) (total int, err error) {
	for {
		n, err := batch()
		total += n
		if err != nil || n < pruneBatch {
			return total, err
		}
	}
}

// pruneSessions deletes some sessions of which everything lies before the cutoff, with everything that belongs to them: a
// record of theirs that is pushed once more is too old to count a second time.
func (s *Store) pruneSessions(ctx context.Context, cutoff time.Time) (int, error) {
	type row struct {
		OrgID     ids.ID `bun:"org_id"`
		SessionID string `bun:"session_id"`
	}
	old, err := query[row](ctx, s.pool, `SELECT t.org_id, t.session_id FROM sessions t
		WHERE t.received_at < $1 AND coalesce(t.ended_at, t.started_at, t.received_at) < $1`+noneSince+` ORDER BY t.received_at LIMIT $2`, cutoff, pruneBatch)
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
			return o.forgetSessions(ctx, names)
		})
		if err != nil {
			return 0, err
		}
	}
	return len(old), nil
}
