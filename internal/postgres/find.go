package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const oldest = 15 // the first version with all that the queries use

var errMissing = errors.New("PostgreSQL 15 or newer was not found: install it (apt install postgresql, " +
	"dnf install postgresql-server, brew install postgresql@18), or install npm and it is downloaded, or name a database URL")

// Find returns a folder with initdb and postgres: the one on PATH, else the newest one that is installed, else one
// that npm downloads into cache.
func Find(ctx context.Context, cache string) (string, error) { return find(ctx, cache, 0) }

// fittingBin returns the programs for data that was made by the given version; 0 stands for no data yet.
func (o Options) fittingBin(ctx context.Context, made int) (string, error) {
	if o.Bin == "" {
		return find(ctx, o.cache(), made)
	}
	switch has := version(ctx, o.Bin); {
	case has == 0:
		return "", fmt.Errorf("%s does not hold the programs initdb and postgres", o.Bin)
	case has < oldest:
		return "", fmt.Errorf("%s holds PostgreSQL %d; it must be %d or newer", o.Bin, has, oldest)
	case made != 0 && has != made:
		return "", mismatch(made, fmt.Sprintf("PostgreSQL %d in %s", has, o.Bin))
	}
	return o.Bin, nil
}

func (o Options) cache() string {
	if o.Cache != "" {
		return o.Cache
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return o.path("cache")
	}
	return filepath.Join(dir, "skillgraph")
}

// find prefers the version that made the data over newer ones: no version reads the files of another.
func find(ctx context.Context, cache string, made int) (string, error) {
	var others []string
	for _, dir := range installed(ctx) {
		has := version(ctx, dir)
		if has >= oldest && (made == 0 || has == made) {
			return dir, nil
		}
		if has != 0 {
			others = append(others, fmt.Sprintf("PostgreSQL %d in %s", has, dir))
		}
	}
	if made == 0 || made == bundleMajor {
		dir, err := bundle(ctx, cache)
		if !errors.Is(err, errMissing) || len(others) == 0 {
			return dir, err
		}
	}
	if made == 0 {
		return "", fmt.Errorf("%w (too old: %s)", errMissing, strings.Join(others, ", "))
	}
	return "", mismatch(made, strings.Join(others, ", "))
}

func mismatch(made int, found string) error {
	return fmt.Errorf("the data directory was made by PostgreSQL %d and cannot be used by %s: install PostgreSQL %d beside it, "+
		"or dump the data with the old version and restore it with the new one", made, cmp.Or(found, "another version"), made)
}

// installed lists folders that may hold PostgreSQL: the one on PATH, then the newest first.
func installed(ctx context.Context) []string {
	var dirs []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return version(ctx, b) - version(ctx, a) })
	if program, err := exec.LookPath("postgres"); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			first := filepath.Dir(program)
			dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == first })
			dirs = slices.Insert(dirs, 0, first)
		}
	}
	return dirs
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// version is the major version of the programs in dir, 0 when they are not there or do not run.
func version(ctx context.Context, dir string) int {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0
	}
	out, _ := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	match := versionLine.FindSubmatch(out)
	if match == nil {
		return 0
	}
	major, _ := strconv.Atoi(string(match[1]))
	return major
}
