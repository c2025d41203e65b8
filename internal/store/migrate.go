package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun/migrate"

	"skillgraph/migrations"
)

// migrationLock keeps two servers that start at once from migrating both. Any number will do.
const migrationLock = 7_234_511_902

// Migration is a step, and whether the database has taken it.
type Migration struct {
	Name    string
	Applied bool
}

// Migrate brings the database up to date and returns the steps taken. Other servers wait their turn.
func (s *Store) Migrate(ctx context.Context) ([]string, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fail(ctx, err)
	}
	defer conn.Release()
	// Another server's migration may take longer than the wait that lock_timeout is for.
	if _, err := conn.Exec(ctx, fmt.Sprintf("SET lock_timeout = 0; SET statement_timeout = 0; SELECT pg_advisory_lock(%d)", migrationLock)); err != nil {
		return nil, fail(ctx, err)
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock_all(); RESET ALL") }()
	all, err := migrations.All()
	if err != nil {
		return nil, err
	}
	m := migrate.NewMigrator(s.db, all, migrate.WithMarkAppliedOnSuccess(true))
	if err := m.Init(ctx); err != nil {
		return nil, fail(ctx, err)
	}
	if _, err := s.Migrations(ctx); err != nil {
		return nil, err
	}
	group, err := m.Migrate(ctx)
	if err == nil {
		err = s.migrateQueue(ctx)
	}
	taken := []string{}
	for _, step := range group.Migrations {
		taken = append(taken, step.String())
	}
	return taken, err
}

// Migrations lists the steps. It fails when the database has taken one that this program does not know:
// then a newer program has been here, and this one would not understand what it finds.
func (s *Store) Migrations(ctx context.Context) ([]Migration, error) {
	all, err := migrations.All()
	if err != nil {
		return nil, err
	}
	taken, err := migrate.NewMigrator(s.db, all).AppliedMigrations(ctx)
	var pg *pgconn.PgError
	if err != nil && (!errors.As(err, &pg) || pg.Code != "42P01") { // no table of steps: none was taken
		return nil, fail(ctx, err)
	}
	applied := map[string]bool{}
	for _, step := range taken {
		applied[step.Name] = true
	}
	out := []Migration{}
	for _, step := range all.Sorted() {
		out = append(out, Migration{Name: step.String(), Applied: applied[step.Name]})
		delete(applied, step.Name)
	}
	for unknown := range applied {
		return nil, fmt.Errorf("the database is newer than this program (it has migration %s): use a newer skillgraph", unknown)
	}
	return out, nil
}

// Ready fails unless the database answers and has taken every step.
func (s *Store) Ready(ctx context.Context) error {
	steps, err := s.Migrations(ctx)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if !step.Applied {
			return fmt.Errorf("migration %s is not applied", step.Name)
		}
	}
	return nil
}
