package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// What live updates are read from. Everything here follows from the order that writeEvents keeps: within an organization a
// number that can be seen is greater than all that could be seen before.

// LastEvent is the place of the newest event; 0 where nothing has happened.
func (o Org) LastEvent(ctx context.Context) (int64, error) {
	rows, err := query[ToldEvent](ctx, o.pg, "SELECT coalesce(max(t.seq), 0) AS seq FROM events t WHERE t.org_id = $1", o.id)
	if err != nil {
		return 0, err
	}
	return rows[0].Seq, nil
}

// EventPlace is the place of an event. One that is gone, or was never there, cannot be gone on from: nobody would know what
// was missed.
func (o Org) EventPlace(ctx context.Context, id ids.ID) (int64, error) {
	rows, err := query[ToldEvent](ctx, o.pg, "SELECT t.seq FROM events t WHERE t.org_id = $1 AND t.id = $2 AND t.created_at > $3", o.id, id, o.now().Add(-eventLife))
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, &errs.Error{Code: errs.NotFound, Path: errs.At("after"), Message: "There is no such event, or it is older than the " +
			"365 days that events are kept: read anew what you follow, then subscribe without after"}
	}
	return rows[0].Seq, nil
}

// EventsAfter reads what happened in organizations after a place in each, in order, at most so many for each.
func (s *Store) EventsAfter(ctx context.Context, places map[ids.ID]int64, limit int) (map[ids.ID][]*ToldEvent, error) {
	var orgs []ids.ID
	var after []int64
	for org, seq := range places {
		orgs, after = append(orgs, org), append(after, seq)
	}
	rows, err := query[ToldEvent](ctx, s.pool, `SELECT e.* FROM unnest($1::uuid[], $2::bigint[]) AS p(org_id, seq) CROSS JOIN LATERAL (
			SELECT `+columns[ToldEvent]()+` FROM events t WHERE t.org_id = p.org_id AND t.seq > p.seq ORDER BY t.seq LIMIT $3
		) e ORDER BY e.org_id, e.seq`, orgs, after, limit)
	return group(rows, func(e *ToldEvent) ids.ID { return e.OrgID }), err
}

// listenCheck is how long the listener trusts a connection on which nothing comes.
const listenCheck = 15 * time.Second

// Listen hears of events on a connection of its own until that fails or ctx ends. It calls heard with the organization of each; with
// the zero id when it may have missed some: at the beginning, and every few seconds in which it has heard of none.
func (s *Store) Listen(ctx context.Context, heard func(org ids.ID)) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(bye)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+EventChannel); err != nil {
		return err
	}
	heard(ids.ID{})
	for {
		wait, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			name, _, _ := strings.Cut(n.Payload, " ")
			org, _ := ids.Parse(name)
			heard(org)
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			alive, cancel := context.WithTimeout(ctx, listenCheck)
			err := conn.Ping(alive)
			cancel()
			if err != nil {
				return err
			}
			heard(ids.ID{})
		default:
			return err
		}
	}
}
