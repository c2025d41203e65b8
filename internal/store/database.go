package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// CreateDatabase makes a database on a cluster of our own, where it is missing.
func CreateDatabase(ctx context.Context, clusterURL, name string) error {
	conn, err := pgx.Connect(ctx, clusterURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil || there {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P04" || pg.Code == "23505") {
		return nil // somebody else was faster
	}
	return err
}
