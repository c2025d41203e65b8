package store

import (
	"context"
	"encoding/json"
	"strconv"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// EventChannel is where every event is announced, as "<organization> <event>", when its transaction commits.
const EventChannel = "skillgraph_events"

// event writes a line of the audit trail. It belongs into the transaction of the change it tells of.
func (o Org) event(ctx context.Context, kind string, object ids.ID, data map[string]any) error {
	if data == nil {
		data = map[string]any{}
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	now := o.now()
	_, err = exec(ctx, o.pg, `WITH e AS (
			INSERT INTO events (org_id, id, kind, object_id, actor_id, data, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
		) SELECT pg_notify($8, $1::text || ' ' || $2::text)`,
		o.id, ids.New(ids.Event, now), kind, object, o.by(), models.JSON(raw), now, EventChannel)
	return err
}

// eventRow has the order in which events were written, which is nobody's business outside.
type eventRow struct {
	models.Event
	Seq int64 `bun:"seq"`
}

var eventOrder = order[eventRow]{
	name: "seq", columns: []string{"t.seq"}, types: []string{"bigint"}, desc: true,
	key: func(e *eventRow) []string { return []string{strconv.FormatInt(e.Seq, 10)} },
	id:  func(e *eventRow) ids.ID { return e.ID },
}

// Events lists what happened, newest first.
func (o Org) Events(ctx context.Context, f models.EventFilter, w models.Window) (*models.EventConnection, error) {
	l := listing[eventRow]{from: "events t", parent: "t.org_id", order: eventOrder}
	if kinds := f.Kinds.Value(); len(kinds) > 0 {
		l.filter("t.kind = ANY(?)", kinds)
	}
	if id := f.ObjectID.Value(); id != nil {
		l.filter("t.object_id = ?", *id)
	}
	if id := f.ActorID.Value(); id != nil {
		l.filter("t.actor_id = ?", *id)
	}
	rows, err := page(ctx, o, l, w)
	if err != nil {
		return nil, err
	}
	return models.MapConnection(rows, func(e *eventRow) *models.Event { return &e.Event }), nil
}

// EventsByID is the batch for nodes.
func (o Org) EventsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Event, error) {
	rows, err := query[models.Event](ctx, o.pg, "SELECT "+columns[models.Event]()+" FROM events t WHERE t.org_id = $1 AND t.id = ANY($2)", o.id, keys)
	return byID(rows, func(e *models.Event) ids.ID { return e.ID }), err
}
