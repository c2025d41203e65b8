package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"skillgraph/internal/errs"
)

// broken says in the caller's words what it means that a constraint refused a write.
var broken = map[string]*errs.Error{
	"eval_suites_source_fkey": errs.At("sourceId").Because("there is no such cloud source"),
	"repo_links_entry_key":    connectionTaken,
	"users_email_key":         errs.New(errs.Conflict, "There is a user with this e-mail address already"),
	"organizations_name_key":  errs.New(errs.Conflict, "There is an organization with this name already"),
}

// fail translates what the database says, once for the whole program. What it does not know stays as it is,
// and is shown to nobody.
func fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var known *errs.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errs.New(errs.Timeout, "The operation took too long and was stopped; ask for less at once")
	}
	if ctx.Err() != nil {
		return err // the caller has gone
	}
	if isAway(err) {
		return away()
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return failPg(pg)
	}
	return err
}

func failPg(pg *pgconn.PgError) error {
	if e, ok := broken[pg.ConstraintName]; ok {
		return e
	}
	switch {
	case pg.Code == "22021" || pg.Code == "22P05":
		return errs.New(errs.Invalid, "Text must be UTF-8 and must not contain the NUL character")
	case pg.Code == "57014":
		return errs.New(errs.Timeout, "The operation took too long and was stopped; ask for less at once")
	case pg.Code == "55P03" || pg.Code == "40001" || pg.Code == "40P01":
		return &errs.Error{Code: errs.Unavailable, Message: "Others are changing the same thing; try again", RetryAfter: time.Second}
	case strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "53") || strings.HasPrefix(pg.Code, "08"):
		return away()
	}
	return pg
}

// isAway reports whether there was no database to talk to, whatever it said when it hung up.
func isAway(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, puddle.ErrClosedPool) ||
		errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "conn closed") || err.Error() == "sql: database is closed"
}

func away() error {
	return &errs.Error{Code: errs.Unavailable, Message: "The database is not reachable; try again in a moment", RetryAfter: 5 * time.Second}
}
