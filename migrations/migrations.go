// Package migrations holds the database's schema as a list of steps.
package migrations

import (
	"embed"

	"github.com/uptrace/bun/migrate"
)

//go:embed *.sql
var files embed.FS

// All is every step, oldest first. A step that has landed is never edited: add another.
func All() (*migrate.Migrations, error) {
	m := migrate.NewMigrations()
	return m, m.Discover(files)
}
