package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/store"
	"skillgraph/models"
)

const keyLine = `^sg_live_[A-Za-z0-9]{32,}\n$`

// What is wrong is said in one line, and nothing has been touched.
func TestRefusals(t *testing.T) {
	t.Parallel()
	key := []string{"key", "create", "--org", "acme", "--user", "someone@example.com"}
	taken := busy(t)
	for name, c := range map[string]struct {
		args     []string
		settings []string
		because  string
	}{
		"no such command":         {args: []string{"server"}, because: `no command "server"`},
		"no such second word":     {args: []string{"key", "make"}, because: `no command "key make"`},
		"flag before the command": {args: []string{"--addr", "x", "serve"}, because: "no command"},
		"unknown flag":            {args: []string{"serve", "--port", "80"}, because: "not defined: -port"},
		"unknown flag of a key":   {args: append(key, "--plans", "pro"), because: "not defined: -plans"},
		"too many words":          {args: []string{"serve", "now"}, because: "usage: skillgraph serve"},
		"too few words":           {args: []string{"key", "revoke"}, because: "usage: skillgraph key revoke ID"},
		"no organization":         {args: []string{"key", "create", "--user", "someone@example.com"}, because: "--org"},
		"bad organization":        {args: append(key, "--org", "A B"), because: "org name must be"},
		"bad user":                {args: append(key, "--user", "someone"), because: "user must be an e-mail address"},
		"bad plan":                {args: append(key, "--plan", "gold"), because: `--plan must be one of free, pro, team, enterprise, not "gold"`},
		"bad role":                {args: append(key, "--role", "boss"), because: `--role must be one of viewer, member, admin, owner, not "boss"`},
		"bad permission":          {args: append(key, "--permission", "registry:push,all"), because: `not "all"`},
		"bad expiry":              {args: append(key, "--expires-in", "tomorrow"), because: "expires-in"},
		"expiry in the past":      {args: append(key, "--expires-in", "-1h"), because: "future"},
		"bad plan of an org":      {args: []string{"org", "set-plan", "acme", "gold"}, because: "--plan must be one of"},
		"no account":              {args: []string{"repohost", "grant", "--org", "acme"}, because: "--org and --account"},
		"bad setting":             {args: []string{"serve"}, settings: []string{"SKILLGRAPH_MIGRATE=perhaps"}, because: "SKILLGRAPH_MIGRATE"},
		"bad log format":          {args: []string{"serve", "--log-format", "xml"}, because: "text or json"},
		"bad collector":           {args: []string{"serve", "--addr", "127.0.0.1:0"}, settings: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=secret@localhost:4318"}, because: "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL"},
		"bad log level":           {args: []string{"serve", "--log-level", "loud"}, because: "debug, info, warn or error"},
		"bad address":             {args: []string{"serve", "--addr", "nowhere"}, because: "cannot listen on nowhere"},
		"busy port":               {args: []string{"serve", "--addr", taken}, because: "cannot listen on " + taken},
		"busy port for metrics":   {args: []string{"serve", "--addr", "127.0.0.1:0", "--metrics-addr", taken}, because: "cannot listen on " + taken},
		"database away":           {args: []string{"serve", "--addr", "127.0.0.1:0", "--database-url", "postgres://u:secret@127.0.0.1:1/x"}, because: "connection refused"},
		"no such database host":   {args: append(key, "--database-url", "postgres://u:secret@nowhere.invalid/x"), because: "cannot use the database"},
		"database URL with slip":  {args: append(key, "--database-url", "postgres://u:secret%zz@127.0.0.1/x"), because: "the database URL is not usable"},
		"database URL in words":   {args: append(key, "--database-url", "host=127.0.0.1 password=secret oops"), because: "the database URL is not usable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			r := runWith(t, append(c.settings, "SKILLGRAPH_DATA_DIR="+dir), c.args...)
			r.refused(t, c.because)
			require.NotContains(t, r.stderr, "secret")
			require.NoDirExists(t, dir)
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	require.Equal(t, usage, must(t))
	require.Equal(t, usage, must(t, "--help"))
	require.Equal(t, "skillgraph development\n", must(t, "version"))
	require.Contains(t, must(t, "serve", "-h"), "-metrics-addr")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	db := dbtest.Open(t, url, store.Options{MaxConns: 2})
	create := func(args ...string) (*models.Viewer, result) {
		r := runWith(t, []string{"SKILLGRAPH_DATABASE_URL=" + url}, append([]string{"key", "create", "--org", "acme"}, args...)...)
		require.Zero(t, r.code, r.stderr)
		require.Regexp(t, keyLine, r.stdout)
		v, err := db.Viewer(t.Context(), strings.TrimSpace(r.stdout))
		require.NoError(t, err)
		return v, r
	}

	// What is missing is made, with the defaults.
	v, r := create("--user", "someone@example.com")
	require.Empty(t, r.stderr)
	require.Equal(t, models.PlanFree, v.Plan)
	require.Equal(t, models.RoleMember, v.Role)
	require.Equal(t, models.RoleMember.Permissions(), v.Permissions)

	// What is there is changed by a flag, and only by a flag.
	v, r = create("--user", "Someone@example.com", "--plan", "team", "--role", "owner")
	require.Equal(t, "changed plan of acme: free -> team\nchanged role of someone@example.com: member -> owner\n", r.stderr)
	require.Equal(t, models.PlanTeam, v.Plan)
	require.Equal(t, models.RoleOwner, v.Role)
	v, r = create("--user", "someone@example.com", "--plan", "team")
	require.Empty(t, r.stderr)
	require.Equal(t, models.RoleOwner, v.Role)

	// A key with a list has exactly that list.
	v, _ = create("--user", "robot@example.com", "--permission", "registry:push", "--permission", "telemetry:write,alerts:write", "--name", "CI", "--expires-in", "24h")
	require.Equal(t, []models.Permission{models.PermissionTelemetryWrite, models.PermissionAlertsWrite, models.PermissionRegistryPush}, v.Permissions)

	list := must(t, "key", "list", "--database-url", url, "--org", "acme")
	require.Regexp(t, `acme +robot@example\.com +CI +sg_live_\w{4}… +\S+ +until \S+ \S+ +never\n`, list)
	require.Equal(t, 4, strings.Count(list, "sg_live_"))
	require.Contains(t, must(t, "key", "revoke", v.KeyID.String(), "--database-url", url), "(CI)")
	require.Regexp(t, `CI +.* revoked `, must(t, "key", "list", "--database-url", url))
	runWith(t, nil, "key", "revoke", "sg_live_none", "--database-url", url).refused(t, "no key")

	require.Contains(t, must(t, "org", "set-plan", "acme", "enterprise", "--database-url", url), "acme is on the enterprise plan")
	require.Regexp(t, `acme +enterprise `, must(t, "org", "list", "--database-url", url))
	runWith(t, nil, "org", "set-plan", "nobody", "pro", "--database-url", url).refused(t, `no organization "nobody"`)
	require.Equal(t, "acme may bind the account other\n", must(t, "repohost", "grant", "--org", "acme", "--account", "other", "--database-url", url))
	runWith(t, nil, "repohost", "grant", "--org", "nobody", "--account", "x", "--database-url", url).refused(t, `no organization "nobody"`)
	runWith(t, nil, "repohost", "grant", "--org", "acme", "--account", "../x", "--database-url", url).refused(t, "account must be letters")
}

// The commands work with a server on the same data and without one, and a server finds what was there.
func TestDataDir(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	newKey := func(user string) string {
		r := runWith(t, nil, "key", "create", "--data-dir", dir, "--org", "acme", "--user", user)
		require.Zero(t, r.code, r.stderr)
		require.Regexp(t, keyLine, r.stdout)
		require.Empty(t, r.stderr)
		return strings.TrimSpace(r.stdout)
	}
	before := newKey("before@example.com")
	require.True(t, postgresGone(dir))

	s := startServer(t, "--data-dir", dir)
	s.requireKey(t, before)
	during := newKey("during@example.com")
	s.requireKey(t, during)
	second := runWith(t, nil, "serve", "--addr", "127.0.0.1:0", "--data-dir", dir)
	second.refused(t, "another skillgraph (pid", dir)
	s.requireKey(t, during)
	require.Zero(t, s.stop(t, syscall.SIGINT), s.stderr)
	require.True(t, postgresGone(dir))

	s = startServer(t, "--data-dir", dir)
	s.requireKey(t, before)
	s.requireKey(t, during)
	orgs := must(t, "org", "list", "--data-dir", dir)
	require.Equal(t, 2, strings.Count(orgs, "\n"), "nothing but the head and acme: serve loads no demo data\n%s", orgs)
}

func TestDemo(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	key := must(t, "demo", "--data-dir", dir)
	require.Regexp(t, keyLine, key)
	require.Equal(t, key, must(t, "demo", "--data-dir", dir))

	s := startServer(t, "--data-dir", dir)
	require.Equal(t, strings.TrimSpace(key), s.shown("Demo key"))
	_, list := get(t, s.url()+suites, strings.TrimSpace(key))
	require.Contains(t, list, "PDF: when to fire")

	// Beside the server, and after its key was revoked, there is a new key to the same data.
	must(t, "key", "revoke", key[:12], "--data-dir", dir)
	again := must(t, "demo", "--data-dir", dir)
	require.NotEqual(t, key, again)
	_, same := get(t, s.url()+suites, strings.TrimSpace(again))
	require.Equal(t, list, same)
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	dbtest.Exec(t, url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	require.Regexp(t, `^pending \d+_init\n`, must(t, "migrate", "status", "--database-url", url))

	// A server that must not migrate starts, and says that it is not ready.
	s := startServer(t, "--database-url", url, "--migrate=false")
	status, _ := get(t, s.url()+"/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, _ = get(t, s.url()+"/healthz", "")
	require.Equal(t, http.StatusOK, status)

	require.Regexp(t, `^applied \d+_init\n`, must(t, "migrate", "up", "--database-url", url))
	require.Equal(t, "the database is up to date\n", must(t, "migrate", "up", "--database-url", url))
	require.Regexp(t, `^applied \d+_init\n`, must(t, "migrate", "status", "--database-url", url))
	status, _ = get(t, s.url()+"/readyz", "")
	require.Equal(t, http.StatusOK, status)
}

// A newer program has been here: this one would not understand what it finds.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	dbtest.Exec(t, url, "INSERT INTO bun_migrations (name, group_id) VALUES ('99990101000000', 99)")
	for _, args := range [][]string{
		{"serve", "--addr", "127.0.0.1:0"},
		{"serve", "--addr", "127.0.0.1:0", "--migrate=false"},
		{"migrate", "up"},
		{"migrate", "status"},
		{"key", "create", "--org", "acme", "--user", "someone@example.com"},
		{"demo", "--data-dir", newDir(t)},
	} {
		runWith(t, []string{"SKILLGRAPH_DATABASE_URL=" + url}, args...).refused(t, "the database is newer than this program", "99990101000000")
	}
	orgs, err := dbtest.Open(t, url, store.Options{MaxConns: 1}).Organizations(t.Context())
	require.NoError(t, err)
	require.Empty(t, orgs)
}

func TestDataOfAnotherPostgres(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	must(t, "key", "create", "--data-dir", dir, "--org", "acme", "--user", "someone@example.com")
	file := filepath.Join(dir, "postgres", "data", "PG_VERSION")
	made, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("14\n"), 0o600))
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"org", "list"}} {
		runWith(t, []string{"SKILLGRAPH_DATA_DIR=" + dir}, args...).refused(t, "made by PostgreSQL 14")
	}
	require.NoError(t, os.WriteFile(file, made, 0o600))
	require.Contains(t, must(t, "org", "list", "--data-dir", dir), "acme")
}
