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
	return o.events(ctx, kind, []ids.ID{object}, []map[string]any{data})
}

// events writes one line for each of several objects, in their order, with one statement.
func (o Org) events(ctx context.Context, kind string, objects []ids.ID, data []map[string]any) error {
	now := o.now()
	made, texts := make([]ids.ID, len(objects)), make([]string, len(objects))
	for i, d := range data {
		if d == nil {
			d = map[string]any{}
		}
		raw, err := json.Marshal(d)
		if err != nil {
			return err
		}
		made[i], texts[i] = ids.New(ids.Event, now), string(raw)
	}
	_, err := exec(ctx, o.pg, `WITH e AS (
			INSERT INTO events (org_id, id, kind, object_id, actor_id, data, created_at)
			SELECT $1, r.id, $3, r.object, $6, r.data::json, $7 FROM unnest($2::uuid[], $4::uuid[], $5::text[]) WITH ORDINALITY AS r(id, object, data, n) ORDER BY r.n
		) SELECT pg_notify($8, $1::text || ' ' || r.id::text) FROM unnest($2::uuid[]) AS r(id)`,
		o.id, made, kind, objects, texts, o.by(), now, EventChannel)
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

func eventListing(parent string, f models.EventFilter) listing[eventRow] {
	l := listing[eventRow]{from: "events t", parent: parent, order: eventOrder}
	if kinds := f.Kinds.Value(); len(kinds) > 0 {
		l.filter("t.kind = ANY(?)", kinds)
	}
	if id := f.ObjectID.Value(); id != nil {
		l.filter("t.object_id = ?", *id)
	}
	if id := f.ActorID.Value(); id != nil {
		l.filter("t.actor_id = ?", *id)
	}
	return l
}

func shown(rows *models.Connection[eventRow]) *models.EventConnection {
	return models.MapConnection(rows, func(e *eventRow) *models.Event { return &e.Event })
}

// Events lists what happened, newest first.
func (o Org) Events(ctx context.Context, f models.EventFilter, w models.Window) (*models.EventConnection, error) {
	rows, err := page(ctx, o, eventListing("t.org_id", f), w)
	if err != nil {
		return nil, err
	}
	return shown(rows), nil
}

// EventsBy lists what members did, newest first.
func (o Org) EventsBy(ctx context.Context, users []ids.ID, in models.EventList) (map[ids.ID]*models.EventConnection, error) {
	found, err := pages(ctx, o, eventListing("t.actor_id", in.Filter()), users, in.Window)
	out := make(map[ids.ID]*models.EventConnection, len(found))
	for user, rows := range found {
		out[user] = shown(rows)
	}
	return out, err
}

// EventsByID is the batch for nodes.
func (o Org) EventsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Event, error) {
	rows, err := query[models.Event](ctx, o.pg, "SELECT "+columns[models.Event]()+" FROM events t WHERE t.org_id = $1 AND t.id = ANY($2)", o.id, keys)
	return byID(rows, func(e *models.Event) ids.ID { return e.ID }), err
}
