package store

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// counter sees every statement that leaves the process, whoever composed it.
type counter struct{ n atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

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
