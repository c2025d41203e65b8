package store

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// EventChannel is where every event is announced, as "<organization> <event>", when its transaction commits.
const EventChannel = "skillgraph_events"

// event writes a line of the audit trail. It belongs into the transaction of the change it tells of.
func (o Org) event(ctx context.Context, kind string, object ids.ID, data map[string]any) error {
	return o.events(ctx, kind, []ids.ID{object}, []map[string]any{data})
}

// events writes one line for each of several objects, in their order. They are written when the transaction is about to commit.
func (o Org) events(_ context.Context, kind string, objects []ids.ID, data []map[string]any) error {
	tx, ok := o.pg.(*transaction)
	if !ok {
		return errors.New("store: an event belongs into a transaction")
	}
	now := o.now()
	for i, d := range data {
		if d == nil {
			d = map[string]any{}
		}
		raw, err := json.Marshal(d)
		if err != nil {
			return err
		}
		tx.told = append(tx.told, &models.Event{
			OrgID: o.id, ID: ids.New(ids.Event, now), Kind: kind, ObjectID: objects[i], ActorID: o.by(), Data: raw, CreatedAt: now,
		})
	}
	return nil
}

// writeEvents is the last thing that a transaction does. Those of one organization wait for each other from here until they have
// committed, so that the numbers of its events are the order in which they can be seen: who has read up to one of them
// has missed none before it. (See docs/adr/0014-event-stream.md.)
func (t *transaction) writeEvents(ctx context.Context) error {
	if len(t.told) == 0 {
		return nil
	}
	type E = models.Event
	orgs := column(t.told, func(e *E) ids.ID { return e.OrgID })
	if _, err := exec(ctx, t, "SELECT pg_advisory_xact_lock(hashtextextended('events ' || o::text, 0)) FROM (SELECT DISTINCT o FROM unnest($1::uuid[]) AS o ORDER BY o) o", orgs); err != nil {
		return err
	}
	_, err := exec(ctx, t, `WITH e AS (
			INSERT INTO events (org_id, id, kind, object_id, actor_id, data, created_at)
			SELECT r.org, r.id, r.kind, r.object, r.actor, r.data::json, r.at
			FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::timestamptz[]) WITH ORDINALITY AS r(org, id, kind, object, actor, data, at, n) ORDER BY r.n
		) SELECT pg_notify($8, r.org::text || ' ' || r.id::text) FROM unnest($1::uuid[], $2::uuid[]) AS r(org, id)`,
		orgs, column(t.told, func(e *E) ids.ID { return e.ID }), column(t.told, func(e *E) string { return e.Kind }), column(t.told, func(e *E) ids.ID { return e.ObjectID }),
		column(t.told, func(e *E) *ids.ID { return e.ActorID }), column(t.told, func(e *E) string { return string(e.Data) }), column(t.told, func(e *E) time.Time { return e.CreatedAt }), EventChannel)
	return err
}

// ToldEvent is an event with its place among those of its organization, which is nobody's business outside.
type ToldEvent struct {
	models.Event
	Seq int64 `bun:"seq"`
}

var eventOrder = order[ToldEvent]{
	name: "seq", columns: []string{"t.seq"}, types: []string{"bigint"}, desc: true,
	key: func(e *ToldEvent) []string { return []string{strconv.FormatInt(e.Seq, 10)} },
	id:  func(e *ToldEvent) ids.ID { return e.ID },
}

func eventListing(parent string, f models.EventFilter) listing[ToldEvent] {
	l := listing[ToldEvent]{from: "events t", parent: parent, order: eventOrder}
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

func shown(rows *models.Connection[ToldEvent]) *models.EventConnection {
	return models.MapConnection(rows, func(e *ToldEvent) *models.Event { return &e.Event })
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
	return batch(ctx, o, func(e *models.Event) ids.ID { return e.ID }, "events t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}
