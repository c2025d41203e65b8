package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"skillgraph/internal/blob"
	"skillgraph/internal/postgres"
	"skillgraph/internal/store"
)

// flags reads the flags of a command: from its arguments, else from the environment, else the default.
type flags struct {
	*flag.FlagSet
	env         env
	dataDir     string
	databaseURL string
	blobs       string
	repos       string
	store       store.Options
}

// newFlags is for commands that use the database.
func newFlags(e env, name string) *flags {
	f := bareFlags(e, name)
	f.StringVar(&f.dataDir, "data-dir", "./.skillgraph", "where the server keeps its own PostgreSQL and files")
	f.StringVar(&f.databaseURL, "database-url", "", "a PostgreSQL to use in place of the server's own: postgres://user:password@host/database")
	return f
}

func bareFlags(e env, name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), env: e}
	f.SetOutput(io.Discard)
	return f
}

// read parses and returns the arguments that are no flags; there must be as many as names, less those in brackets.
func (f *flags) read(args []string, names ...string) ([]string, error) {
	var positional []string
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				f.SetOutput(f.env.stdout)
				f.PrintDefaults()
				return nil, err
			}
			return nil, fmt.Errorf("%w (skillgraph %s -h lists the flags)", err, f.Name())
		}
		if f.NArg() == 0 {
			break
		}
		positional, args = append(positional, f.Arg(0)), f.Args()[1:]
	}
	needed := len(names)
	for needed > 0 && strings.HasPrefix(names[needed-1], "[") {
		needed--
	}
	if len(positional) < needed || len(positional) > len(names) {
		return nil, fmt.Errorf("usage: %s", strings.TrimSpace("skillgraph "+f.Name()+" "+strings.Join(names, " ")+" [flags]"))
	}
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	var err error
	f.VisitAll(func(fl *flag.Flag) {
		name := "SKILLGRAPH_" + strings.ToUpper(strings.ReplaceAll(fl.Name, "-", "_"))
		if v, ok := f.env.lookup(name); ok && !given[fl.Name] && err == nil {
			if bad := f.Set(fl.Name, v); bad != nil {
				err = fmt.Errorf("%s: %w", name, bad)
			}
		}
	})
	return append(positional, make([]string, len(names)-len(positional))...), err
}

// list is a flag that may be repeated, or hold several values with commas between them.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set adds values.
func (l *list) Set(s string) error {
	for v := range strings.SplitSeq(s, ",") {
		if v = strings.TrimSpace(v); v != "" {
			*l = append(*l, v)
		}
	}
	return nil
}

const databaseName = "skillgraph"

// database is a store with what runs below it.
type database struct {
	*store.Store
	own *postgres.Server // nil with --database-url
}

// open opens the database for a command. A server owns its PostgreSQL; other commands share one that runs.
func (f *flags) open(ctx context.Context, start func(context.Context, postgres.Options) (*postgres.Server, error)) (*database, error) {
	db, url := &database{}, f.databaseURL
	if url == "" {
		var err error
		db.own, err = start(ctx, postgres.Options{Dir: filepath.Join(f.dataDir, "postgres")})
		if err != nil {
			return nil, err
		}
		url = db.own.URL(databaseName)
		if err := store.CreateDatabase(ctx, db.own.URL("postgres"), databaseName); err != nil {
			db.close()
			return nil, err
		}
	}
	s, err := store.Open(ctx, url, f.store)
	if err != nil {
		db.close()
		return nil, fmt.Errorf("cannot use the database: %w", err)
	}
	db.Store = s
	return db, nil
}

func (f *flags) registerBlobs() {
	f.StringVar(&f.blobs, "blobs", "", "where archives are kept: a folder, or s3://bucket?region=… (default: blobs in --data-dir)")
}

func (f *flags) registerRepos() {
	f.StringVar(&f.repos, "repohost-root", "", "folder with the repositories of the local code host, as <owner>/<name>.git (default: repos in --data-dir)")
}

// reposRoot is where the repositories of the local code host are.
func (f *flags) reposRoot() string {
	if f.repos != "" {
		return f.repos
	}
	return filepath.Join(f.dataDir, "repos")
}

// openBlobs opens the place of the archives. It may be given as a path.
func (f *flags) openBlobs(ctx context.Context, ledger blob.Ledger) (*blob.Store, error) {
	at := f.blobs
	if at == "" {
		at = filepath.Join(f.dataDir, "blobs")
	}
	if !strings.Contains(at, "://") {
		path, err := filepath.Abs(at)
		if err != nil {
			return nil, err
		}
		at = (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	}
	blobs, err := blob.Open(ctx, at, ledger)
	if err != nil {
		return nil, fmt.Errorf("--blobs: %w", err)
	}
	return blobs, nil
}

func (d *database) close() {
	if d.Store != nil {
		d.Close()
	}
	if d.own != nil {
		if err := d.own.Stop(); err != nil {
			slog.Warn("PostgreSQL did not stop cleanly", "error", err)
		}
	}
}

// withStore runs a command on an up-to-date database.
func (f *flags) withStore(ctx context.Context, do func(*store.Store) error) error {
	db, err := f.open(ctx, postgres.Join)
	if err != nil {
		return err
	}
	defer db.close()
	if _, err := db.Migrate(ctx); err != nil {
		return err
	}
	return do(db.Store)
}
