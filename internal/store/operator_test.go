package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestGrant(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 1, 2, 3, 0, time.UTC)
	w := newWorldAt(t, func() time.Time { return now })
	grant := func(g store.Grant) (*models.Viewer, []string) {
		g.Org, g.Email, g.KeyName = "new", "Some.One@Example.com", "k"
		key, changed, err := w.Grant(t.Context(), g)
		require.NoError(t, err)
		v, err := w.Viewer(t.Context(), key)
		require.NoError(t, err)
		return v, changed
	}
	first, changed := grant(store.Grant{})
	require.Empty(t, changed, "what is new is no change")
	require.Equal(t, models.PlanFree, first.Plan)
	require.Equal(t, models.RoleMember, first.Role)
	org := w.Org(first.OrgID, ids.ID{})
	require.Equal(t, map[string]models.Role{"some.one@example.com": models.RoleMember}, members(t, org))

	again, changed := grant(store.Grant{})
	require.Empty(t, changed)
	require.Equal(t, first.UserID, again.UserID)
	require.NotEqual(t, first.KeyID, again.KeyID)
	_, changed = grant(store.Grant{Plan: new(models.PlanFree), Role: new(models.RoleMember)})
	require.Empty(t, changed, "given, but what it is already")
	v, changed := grant(store.Grant{Plan: new(models.PlanTeam), Role: new(models.RoleOwner)})
	require.Equal(t, []string{"plan of new: free -> team", "role of some.one@example.com: member -> owner"}, changed)
	require.Equal(t, models.PlanTeam, v.Plan)
	require.Equal(t, models.RoleOwner, v.Role)
	v, changed = grant(store.Grant{})
	require.Empty(t, changed)
	require.Equal(t, models.PlanTeam, v.Plan, "not given: stays")
	require.Equal(t, models.RoleOwner, v.Role)
	v, changed = grant(store.Grant{Permissions: []models.Permission{models.PermissionRegistryPush}})
	require.Empty(t, changed)
	require.Equal(t, []models.Permission{models.PermissionRegistryPush}, v.Permissions)

	_, err := org.AddMember(t.Context(), "second@example.com", models.RoleOwner)
	require.NoError(t, err)
	_, err = org.RemoveMember(t.Context(), first.UserID)
	require.NoError(t, err)
	now = now.Add(time.Hour)
	v, changed = grant(store.Grant{})
	require.Equal(t, []string{"role of some.one@example.com: left -> member"}, changed)
	require.Equal(t, models.RoleMember, v.Role)
	u, err := org.Member(t.Context(), first.UserID)
	require.NoError(t, err)
	require.Equal(t, now, u.JoinedAt, "who comes back joins anew")
}

func TestGrantRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.count(t, "SELECT count(*) FROM organizations") + w.count(t, "SELECT count(*) FROM users")
	for path, g := range map[string]store.Grant{
		"user":      {Org: "new", Email: "nobody", KeyName: "k"},
		"org":       {Org: "Not A Name", Email: "a@example.com", KeyName: "k"},
		"name":      {Org: "new", Email: "a@example.com"},
		"expiresAt": {Org: "new", Email: "a@example.com", KeyName: "k", ExpiresAt: new(time.Unix(0, 0))},
	} {
		key, _, err := w.Grant(t.Context(), g)
		requireCode(t, errs.Invalid, err)
		require.Empty(t, key)
		var e *errs.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.Path, path)
	}
	require.Equal(t, before, w.count(t, "SELECT count(*) FROM organizations")+w.count(t, "SELECT count(*) FROM users"))
}

func TestManyGrantTheSameOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := race(20, func(int) error {
		_, _, err := w.Grant(t.Context(), store.Grant{Org: "new", Email: "new@example.com", KeyName: "k", Plan: new(models.PlanPro), Role: new(models.RoleAdmin)})
		return err
	})
	require.Equal(t, map[errs.Code]int{"": 20}, sorted(all), "%v", all)
	require.Equal(t, 1, w.count(t, "SELECT count(*) FROM organizations WHERE name = 'new' AND plan = 'PRO'"))
	require.Equal(t, 1, w.count(t, "SELECT count(*) FROM users WHERE email = 'new@example.com'"))
	keys, err := w.AllKeys(t.Context(), "new")
	require.NoError(t, err)
	require.Len(t, keys, 20)
}

// A grant that has to wait too long for the organization fails like every other verb.
func TestGrantOnLockedOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tx, err := w.conn(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM organizations WHERE name = 'acme' FOR UPDATE")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, _, err = w.Grant(ctx, store.Grant{Org: "acme", Email: "new@example.com", KeyName: "k"})
	requireCode(t, errs.Timeout, err)
}

func TestOrganizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list, err := w.Organizations(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"acme", "other"}, []string{list[0].Name, list[1].Name})
	require.NoError(t, w.SetPlan(t.Context(), "acme", models.PlanEnterprise))
	list, err = w.Organizations(t.Context())
	require.NoError(t, err)
	require.Equal(t, models.PlanEnterprise, list[0].Plan)
	require.Equal(t, models.PlanTeam, list[1].Plan)
	err = w.SetPlan(t.Context(), "nobody", models.PlanPro)
	requireCode(t, errs.NotFound, err)
	require.EqualError(t, err, `there is no organization "nobody"`)
}

func TestOperatorKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all, err := w.AllKeys(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "acme", all[0].Org)
	require.Equal(t, "owner@example.com", all[0].Email)
	require.Equal(t, w.owner.KeyID, all[0].ID)
	require.Equal(t, w.stranger.KeyID, all[1].ID)
	some, err := w.AllKeys(t.Context(), "other")
	require.NoError(t, err)
	require.Equal(t, all[1:], some)
	some, err = w.AllKeys(t.Context(), "nobody")
	require.NoError(t, err)
	require.Empty(t, some)

	byID, err := w.RevokeKey(t.Context(), w.owner.KeyID.String())
	require.NoError(t, err)
	require.Equal(t, w.owner.KeyID, byID.ID)
	require.NotNil(t, byID.RevokedAt)
	again, err := w.RevokeKey(t.Context(), strings.ToUpper(w.owner.KeyID.String()))
	require.NoError(t, err)
	require.Equal(t, byID, again)
	byPrefix, err := w.RevokeKey(t.Context(), all[1].Prefix)
	require.NoError(t, err)
	require.Equal(t, w.stranger.KeyID, byPrefix.ID)
	done := events(t, w.other)
	require.Equal(t, "key.revoked", done[len(done)-1].Kind)
	require.Nil(t, done[len(done)-1].ActorID, "the operator is no member")

	for _, unknown := range []string{"", "sg_live_", "sg_live_none", ids.New(ids.APIKey, time.Now()).String(), "%"} {
		_, err = w.RevokeKey(t.Context(), unknown)
		requireCode(t, errs.NotFound, err)
	}
}

func TestRevokeByAmbiguousPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.conn(t).Exec(t.Context(), "UPDATE api_keys SET prefix = 'sg_live_same'")
	require.NoError(t, err)
	_, err = w.RevokeKey(t.Context(), "sg_live_same")
	requireCode(t, errs.Conflict, err)
	require.EqualError(t, err, `2 keys begin with "sg_live_same": name one by its id`)
	require.Zero(t, w.count(t, "SELECT count(*) FROM api_keys WHERE revoked_at IS NOT NULL"))
}
