// Package store is the only place with SQL. Everything a tenant owns is reached through an Org,
// which cannot be had without saying which organization; one exported verb is one transaction.
package store

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Store is a database.
type Store struct {
	pool       *pgxpool.Pool
	db         *bun.DB
	queue      *river.Client[pgx.Tx]
	statements *counter
	clock      func() time.Time
	options    Options
	secrets    sync.Map // by name, as read from the database
}

// Options adjust a Store; the zero value is right for a server.
type Options struct {
	MaxConns       int32            // 0: 4 a core, at least 10
	Clock          func() time.Time // nil: the wall clock
	Retention      time.Duration    // of raw telemetry; 0: 400 days
	DropPromptText bool             // keep no prompt text
}

const defaultRetention = 400 * 24 * time.Hour

// Time limits that the database keeps for us, whatever becomes of the caller.
var limits = map[string]string{
	"application_name":                    "skillgraph",
	"statement_timeout":                   "15s",
	"lock_timeout":                        "5s",
	"idle_in_transaction_session_timeout": "30s",
	"standard_conforming_strings":         "on", // bun writes arguments into the text
	"timezone":                            "UTC",
}

// Open connects to the database and makes sure that it answers.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database URL is not usable: %w", err)
	}
	maps.Copy(cfg.ConnConfig.RuntimeParams, limits)
	// bun's texts are all different, so preparing them would only fill the cache; our own reads ask for it.
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	if o.MaxConns > 0 {
		cfg.MaxConns = o.MaxConns
	} else {
		cfg.MaxConns = max(cfg.MaxConns, 10)
	}
	if o.Retention == 0 {
		o.Retention = defaultRetention
	}
	s := &Store{statements: &counter{}, clock: o.Clock, options: o}
	if s.clock == nil {
		s.clock = time.Now
	}
	cfg.ConnConfig.Tracer = s.statements
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error { // times are read as they are made: in UTC
		c.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
		registerKeys(c.TypeMap())
		return nil
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	s.db = bun.NewDB(stdlib.OpenDBFromPool(s.pool), pgdialect.New())
	s.queue, err = newQueue(s.pool)
	return s, err
}

// Close waits for what is under way and lets go of the connections.
func (s *Store) Close() {
	_ = s.db.Close()
	s.pool.Close()
}

// Ping asks the database for a sign of life.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// now is the present in the precision that we show.
func (s *Store) now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// Org is a store seen from one organization, by one of its members. Every statement below it names the organization.
type Org struct {
	store *Store
	id    ids.ID
	actor ids.ID // zero: the server itself
	db    bun.IDB
	pg    querier
	only  *Columns // nil: all
}

// querier is a pool, or the connection under a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// Org is the way in: no organization, no rows. A zero actor is the server itself.
func (s *Store) Org(id, actor ids.ID) Org {
	if id.IsZero() {
		panic("store: no organization")
	}
	return Org{store: s, id: id, actor: actor, db: s.db, pg: s.pool}
}

// ID is the organization's id.
func (o Org) ID() ids.ID { return o.id }

func (o Org) now() time.Time { return o.store.now() }

// by is the actor as a nullable column.
func (o Org) by() *ids.ID {
	if o.actor.IsZero() {
		return nil
	}
	return &o.actor
}

// tx runs a domain verb: all of it or nothing. bun and pgx share the one connection, so that a bun write, a bulk
// copy and whatever else speaks pgx commit together.
func (o Org) tx(ctx context.Context, verb func(o Org) error) error {
	return o.store.tx(ctx, func(db bun.IDB, pg querier) error {
		o.db, o.pg = db, pg
		return verb(o)
	})
}

// inTx is tx for a verb that has something to give back.
func inTx[T any](ctx context.Context, o Org, verb func(o Org) (T, error)) (T, error) {
	var out T
	err := o.tx(ctx, func(o Org) (err error) {
		out, err = verb(o)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

func (s *Store) tx(ctx context.Context, verb func(db bun.IDB, pg querier) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fail(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	var pg *pgx.Conn
	if err := conn.Raw(func(c any) error { pg = c.(*stdlib.Conn).Conn(); return nil }); err != nil {
		return fail(ctx, err)
	}
	// One of database/sql would roll back from a goroutine of its own when ctx ends, while we are using pg.
	tx, err := pg.Begin(ctx)
	if err != nil {
		return fail(ctx, err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after Commit
	t := &transaction{Conn: pg}
	if err := verb(conn, t); err != nil {
		return fail(ctx, err)
	}
	if err := t.writeEvents(ctx); err != nil {
		return err
	}
	return fail(ctx, tx.Commit(ctx))
}

// transaction is the connection under a transaction, with the events that tell of it.
type transaction struct {
	*pgx.Conn
	told []*models.Event
}
