package store

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"skillgraph/internal/tracing"
)

// counter sees every statement that leaves the process, whoever composed it. It counts and traces them.
type counter struct{ n atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return tracing.Statement(ctx, data.SQL, ours(data.Args))
}

func (*counter) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	tracing.EndStatement(ctx, sqlState(data.Err))
}

func (*counter) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceCopyFromStartData) context.Context {
	if !tracing.On() {
		return ctx
	}
	return tracing.Statement(ctx, "COPY "+data.TableName.Sanitize()+" FROM STDIN", true)
}

func (*counter) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceCopyFromEndData) {
	tracing.EndStatement(ctx, sqlState(data.Err))
}

// ours reports whether query or exec sends a statement: then its text is the same whatever its arguments, while bun writes
// them into it.
func ours(args []any) bool {
	if len(args) == 0 {
		return false
	}
	_, ok := args[0].(pgx.QueryExecMode)
	return ok
}

// sqlState is the code of an error, which unlike its text holds nothing of anybody's.
func sqlState(err error) string {
	if err == nil {
		return ""
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return "error"
}

// Statements is how many statements were sent so far, those that begin and end transactions included.
func (s *Store) Statements() int64 { return s.statements.n.Load() }

// Collect registers what the store can tell of itself.
func (s *Store) Collect(reg prometheus.Registerer) {
	gauge := func(name, help string, read func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "skillgraph_db_statements_total", Help: "Statements sent to PostgreSQL.",
	}, func() float64 { return float64(s.Statements()) }))
	gauge("skillgraph_db_connections_max", "Connections the pool may open.", func() float64 { return float64(s.pool.Stat().MaxConns()) })
	gauge("skillgraph_db_connections_open", "Connections that are open.", func() float64 { return float64(s.pool.Stat().TotalConns()) })
	gauge("skillgraph_db_connections_busy", "Connections in use.", func() float64 { return float64(s.pool.Stat().AcquiredConns()) })
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "skillgraph_db_connection_waits_total", Help: "Times that somebody had to wait for a connection.",
	}, func() float64 { return float64(s.pool.Stat().EmptyAcquireCount()) }))
}
