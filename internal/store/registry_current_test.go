package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// unsound counts what must never be: a current version that is none of the entry's, or revoked, or left; nothing current where a
// version is to go back to; and a history with a gap, or that ends elsewhere.
const unsound = `SELECT
	(SELECT count(*) FROM registry_entries e LEFT JOIN registry_versions v ON v.org_id = e.org_id AND v.entry_id = e.id AND v.id = e.current_version_id
		WHERE e.current_version_id IS NOT NULL AND (v.id IS NULL OR v.revoked_at IS NOT NULL OR v.rolled_back)),
	(SELECT count(*) FROM registry_entries e WHERE e.current_version_id IS NULL AND EXISTS (SELECT FROM registry_releases r
		JOIN registry_versions v ON v.org_id = r.org_id AND v.id = r.to_id WHERE r.entry_id = e.id AND v.revoked_at IS NULL AND NOT v.rolled_back)),
	(SELECT count(*) FROM (SELECT r.from_id, lag(r.to_id) OVER (PARTITION BY r.entry_id ORDER BY r.number) AS before FROM registry_releases r) r
		WHERE r.from_id IS DISTINCT FROM r.before),
	(SELECT count(*) FROM registry_entries e WHERE e.current_version_id IS DISTINCT FROM
		(SELECT r.to_id FROM registry_releases r WHERE r.org_id = e.org_id AND r.entry_id = e.id ORDER BY r.number DESC LIMIT 1))`

// scenarios are what becomes of an entry: what is done, what is current after it, and which versions were left. After "!" stands
// the code of a refusal, after which, as after "same", nothing at all has changed.
var scenarios = map[string]string{
	"the way back": `
		push A = A
		push B = B
		push C = C
		rollback = B left C
		rollback = A left B C
		rollback ! CONFLICT
		push D = D left B C
		rollback = A left B C D`,
	"named targets": `
		push 1.0.0 = 1.0.0
		rollback ! CONFLICT
		rollback 1.0.0 = 1.0.0 same
		rollback 2.0.0 ! NOT_FOUND
		push 1.1.0 = 1.1.0
		push 1.2.0 = 1.2.0
		rollback 1.2.0 = 1.2.0 same
		rollback 1.0.0 = 1.0.0 left 1.2.0
		rollback 1.2.0 = 1.2.0 left 1.0.0
		rollback 1.1.0 = 1.1.0 left 1.0.0 1.2.0
		rollback 1.0.0 = 1.0.0 left 1.1.0 1.2.0
		rollback 1.0.0 = 1.0.0 left 1.1.0 1.2.0 same
		rollback ! CONFLICT`,
	"names are exact": `
		push v1.0.0 = v1.0.0
		push 1.0.0 = 1.0.0
		push 1.0.0+b = 1.0.0+b
		push Beta = Beta
		rollback beta ! NOT_FOUND
		rollback 1.0 ! NOT_FOUND
		rollback v1.0.0 = v1.0.0 left Beta
		rollback Beta = Beta left v1.0.0`,
	"an old version pushed late": `
		push 2.0.0 = 2.0.0
		push 1.9.9 = 1.9.9
		rollback = 2.0.0 left 1.9.9`,
	"no semantic versions": `
		push september = september
		push august = august
		push 2026 = 2026
		push 1.0 = 1.0
		push 01.0.0 = 01.0.0
		rollback = 1.0 left 01.0.0`,
	"prereleases alone": `
		push 1.0.0-rc.1 = 1.0.0-rc.1
		push 0.0.0-repohost.abc1234 = 0.0.0-repohost.abc1234
		push 1.0.0-alpha = 1.0.0-alpha
		rollback = 0.0.0-repohost.abc1234 left 1.0.0-alpha`,
	"prereleases beside a release": `
		push 1.0.0-rc.1 = 1.0.0-rc.1
		push 1.0.0 = 1.0.0
		push 2.0.0-rc.1 = 1.0.0
		push v2.0.0-rc.2+build = 1.0.0
		push 0.0.0-repohost.abc1234 = 1.0.0
		push 0.0.0-repohost.1234567 = 1.0.0
		push 0.0.0-repohost.0123456 = 1.0.0
		push 0.0.0-repohost.0000000 = 1.0.0
		push 2.0.0-99999999999999999999999999 = 1.0.0
		rollback = 1.0.0-rc.1 left 1.0.0
		push 3.0.0-rc.1 = 3.0.0-rc.1 left 1.0.0
		rollback 1.0.0 = 1.0.0 left 3.0.0-rc.1
		push 3.0.0-rc.2 = 1.0.0 left 3.0.0-rc.1
		rollback 3.0.0-rc.2 = 3.0.0-rc.2 left 1.0.0 3.0.0-rc.1
		push 2.0.0 = 2.0.0 left 1.0.0 3.0.0-rc.1`,
	"revoking": `
		push A = A
		push B = B
		push C = C
		revoke B = C
		revoke B = C same
		rollback B ! CONFLICT
		rollback = A left C
		rollback C = C left A
		revoke C = none left A
		rollback ! CONFLICT
		rollback C ! CONFLICT
		rollback A = A
		revoke A = none
		rollback ! CONFLICT
		push D = D
		revoke D = none
		push A ! CONFLICT other
		push A = none same`,
	"revoking what is current": `
		push A = A
		push B = B
		push C = C
		rollback = B left C
		revoke B = A left C
		rollback C = C left A
		revoke A = C
		rollback ! CONFLICT`,
	"revoking the release": `
		push 1.0.0 = 1.0.0
		push 1.1.0-rc.1 = 1.0.0
		revoke 1.0.0 = none
		push 1.1.0-rc.2 = 1.1.0-rc.2
		rollback 1.1.0-rc.1 = 1.1.0-rc.1 left 1.1.0-rc.2
		push 1.1.0 = 1.1.0 left 1.1.0-rc.2`,
	"the same again": `
		push A = A
		push A = A same
		push B = B
		push A = B same
		push A ! CONFLICT other
		push B ! CONFLICT other
		rollback = A left B
		push B = A left B same`,
}

func TestCurrentVersion(t *testing.T) {
	t.Parallel()
	for name, script := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.entry(t, w.acme, "beside", models.VisibilityOrg) // what happens to one entry is nothing to another
			beside := w.entry(t, w.other, "pdf", models.VisibilityPublic)
			p := &play{world: w, name: "pdf"}
			for line := range strings.Lines(strings.TrimSpace(script)) {
				p.step(t, strings.TrimSpace(line))
			}
			require.Equal(t, beside.Entry, w.one(t, w.other, beside.Entry.ID))
		})
	}
}

// play is one scenario under way.
type play struct {
	world
	name  string
	entry ids.ID
	made  map[string]*models.RegistryVersion
}

func (p *play) step(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	at := slices.IndexFunc(words, func(s string) bool { return s == "=" || s == "!" })
	verb, arg, wanted := words[0], "", words[at+1:]
	if at == 2 {
		arg = words[1]
	}
	before, history := p.dump(t, p.acme), p.history(t)
	out, err := p.do(t, verb, arg, slices.Contains(wanted, "other"))
	if words[at] == "!" {
		requireCode(t, errs.Code(wanted[0]), err)
		require.Equal(t, before, p.dump(t, p.acme), "%s: nothing has changed", line)
		return
	}
	require.NoError(t, err, line)
	left := wanted[1:]
	if n := len(left); n > 0 && left[n-1] == "same" {
		require.Equal(t, before, p.dump(t, p.acme), "%s: nothing has changed", line)
		require.False(t, out.Created)
		left = left[:n-1]
	} else {
		require.NotEqual(t, before, p.dump(t, p.acme), line)
		require.Equal(t, verb == "push", out.Created)
	}
	if len(left) > 0 {
		left = left[1:]
	}
	p.check(t, line, out, wanted[0], left)
	if fresh := p.history(t)[len(history):]; len(fresh) > 0 {
		require.Len(t, fresh, 1, line)
		require.Equal(t, map[string]models.ReleaseKind{"push": models.ReleaseKindPush, "rollback": models.ReleaseKindRollback, "revoke": models.ReleaseKindRevocation}[verb], fresh[0].Kind)
		require.Equal(t, p.owner.UserID, *fresh[0].CreatedByID)
		if verb == "push" {
			require.Nil(t, fresh[0].Reason)
		} else {
			require.Equal(t, "because of "+arg, *fresh[0].Reason)
		}
	}
}

func (p *play) do(t *testing.T, verb, arg string, other bool) (models.Published, error) {
	t.Helper()
	ctx, reason := t.Context(), "because of "+arg
	text := p.name + " " + arg
	if other {
		text += " in other bytes"
	}
	switch {
	case verb == "push" && p.entry.IsZero():
		out, err := p.create(ctx, p.acme, newEntry(p.name), newVersion(arg), text)
		if err == nil {
			p.entry, p.made = out.Entry.ID, map[string]*models.RegistryVersion{arg: out.Version}
		}
		return out, err
	case verb == "push":
		out, err := p.push(ctx, p.acme, p.entry, newVersion(arg), text)
		if err == nil {
			p.made[arg] = out.Version
		}
		return out, err
	case verb == "revoke":
		return p.acme.RevokeVersion(ctx, p.made[arg].ID, &reason)
	}
	var target *string
	if arg != "" {
		target = &arg
	}
	return p.acme.Rollback(ctx, p.entry, target, &reason)
}

func (p *play) history(t *testing.T) []*models.Release {
	t.Helper()
	if p.entry.IsZero() {
		return nil
	}
	return releases(t, p.acme, p.entry)
}

// check compares what was answered with what is there.
func (p *play) check(t *testing.T, line string, out models.Published, current string, left []string) {
	t.Helper()
	e := p.one(t, p.acme, p.entry)
	require.Equal(t, e, out.Entry, line)
	is, gone := "none", []string{}
	for _, v := range versions(t, p.acme, p.entry) {
		if e.CurrentVersionID != nil && v.ID == *e.CurrentVersionID {
			is = v.Version
		}
		if v.RolledBack && v.RevokedAt == nil {
			gone = append(gone, v.Version)
		}
		if v.ID == out.Version.ID {
			require.Equal(t, v, out.Version, line)
		}
	}
	require.Equal(t, current, is, line)
	require.ElementsMatch(t, left, gone, line)
	p.requireSound(t)
}

// requireSound asks the database itself.
func (w world) requireSound(t testing.TB) {
	t.Helper()
	conn := connect(t, w.url)
	defer func() { _ = conn.Close(context.Background()) }()
	var got [4]int
	require.NoError(t, conn.QueryRow(t.Context(), unsound).Scan(&got[0], &got[1], &got[2], &got[3]))
	require.Equal(t, [4]int{}, got, "wrongly current, wrongly none, gaps in the history, ends of it elsewhere")
}
