package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func TestViewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, v := dbtest.Key(t, w.Store, "acme", "admin@example.com", models.PlanTeam, models.RoleAdmin)
	require.Equal(t, &models.Viewer{
		OrgID: w.acme.ID(), UserID: v.UserID, KeyID: v.KeyID, Plan: models.PlanTeam, Role: models.RoleAdmin, Permissions: models.RoleAdmin.Permissions(),
	}, v)
	require.NoError(t, w.SetPlan(t.Context(), "acme", models.PlanPro))
	v, err := w.Viewer(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, models.PlanPro, v.Plan)
	for _, unknown := range []string{"", models.NewKey(), key[:len(key)-1], key + "x"} {
		_, err := w.Viewer(t.Context(), unknown)
		require.EqualError(t, err, "This API key is not valid: it is unknown, expired or revoked")
		requireCode(t, errs.Unauthenticated, err)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 1, 2, 3, 0, time.UTC)
	w := newWorldAt(t, func() time.Time { return now })
	end := now.Add(time.Minute)
	k, key, err := w.acme.CreateKey(t.Context(), models.APIKey{Name: "k", UserID: w.owner.UserID, ExpiresAt: &end})
	require.NoError(t, err)
	now = end.Add(-time.Millisecond)
	_, err = w.Viewer(t.Context(), key)
	require.NoError(t, err)
	now = end
	_, err = w.Viewer(t.Context(), key)
	requireCode(t, errs.Unauthenticated, err)
	later := now.Add(time.Minute)
	k, err = w.acme.UpdateKey(t.Context(), k.ID, models.UpdateAPIKeyInput{ExpiresAt: set(&later)})
	require.NoError(t, err)
	require.Equal(t, &later, k.ExpiresAt)
	_, err = w.Viewer(t.Context(), key)
	require.NoError(t, err, "its life was prolonged")
	_, err = w.acme.UpdateKey(t.Context(), k.ID, models.UpdateAPIKeyInput{ExpiresAt: set[*time.Time](nil)})
	require.NoError(t, err)
	now = now.AddDate(100, 0, 0)
	_, err = w.Viewer(t.Context(), key)
	require.NoError(t, err)
}

func TestCreateKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k, key, err := w.acme.CreateKey(t.Context(), models.APIKey{Name: "k", UserID: w.owner.UserID})
	require.NoError(t, err)
	require.Equal(t, ids.APIKey, k.ID.Kind())
	require.Equal(t, models.KeyPrefix(key), k.Prefix)
	found, err := w.acme.KeysByID(t.Context(), []ids.ID{k.ID})
	require.NoError(t, err)
	require.Equal(t, k, found[k.ID])
	require.Zero(t, w.count(t, "SELECT count(*) FROM api_keys t WHERE t::text LIKE '%' || $1 || '%'", key[len(k.Prefix):]), "the key itself is not kept")
	require.Zero(t, w.count(t, "SELECT count(*) FROM events t WHERE t::text LIKE '%' || $1 || '%'", key[len(k.Prefix):]))
	v, err := w.Viewer(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, k.ID, v.KeyID)
	all := events(t, w.acme)
	require.Equal(t, "key.created", all[len(all)-1].Kind)
	require.JSONEq(t, `{"name":"k","user_id":"`+w.owner.UserID.String()+`"}`, string(all[len(all)-1].Data))
	for _, bad := range []models.APIKey{{UserID: w.owner.UserID}, {Name: "k", UserID: w.owner.UserID, ExpiresAt: new(time.Unix(0, 0))}} {
		_, key, err := w.acme.CreateKey(t.Context(), bad)
		requireCode(t, errs.Invalid, err)
		require.Empty(t, key)
	}
}

// A key made with a list has exactly that list, whatever becomes of the role; one made without follows the role.
func TestPermissionsOfKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, err := w.acme.AddMember(t.Context(), "user@example.com", models.RoleMember)
	require.NoError(t, err)
	for name, row := range map[string]struct {
		given           []models.Permission
		before, changed []models.Permission
	}{
		"none given": {nil, models.RoleMember.Permissions(), models.RoleViewer.Permissions()},
		"empty":      {[]models.Permission{}, []models.Permission{}, []models.Permission{}},
		"one":        {[]models.Permission{models.PermissionRegistryDelete}, []models.Permission{models.PermissionRegistryDelete}, []models.Permission{models.PermissionRegistryDelete}},
		"twice, in another order": {
			[]models.Permission{models.PermissionRegistryPush, models.PermissionTelemetryWrite, models.PermissionRegistryPush},
			[]models.Permission{models.PermissionTelemetryWrite, models.PermissionRegistryPush},
			[]models.Permission{models.PermissionTelemetryWrite, models.PermissionRegistryPush},
		},
	} {
		k, key, err := w.acme.CreateKey(t.Context(), models.APIKey{Name: name, UserID: user.ID, Permissions: row.given})
		require.NoError(t, err)
		found, err := w.acme.KeysByID(t.Context(), []ids.ID{k.ID})
		require.NoError(t, err)
		require.Equal(t, k, found[k.ID])
		_, err = w.acme.ChangeMemberRole(t.Context(), user.ID, models.RoleMember)
		require.NoError(t, err)
		v, err := w.Viewer(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, row.before, v.Permissions, name)
		_, err = w.acme.ChangeMemberRole(t.Context(), user.ID, models.RoleViewer)
		require.NoError(t, err)
		v, err = w.Viewer(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, row.changed, v.Permissions, name)
	}
}

func TestUpdateAndRevokeKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k, key, err := w.acme.CreateKey(t.Context(), models.APIKey{Name: "k", UserID: w.owner.UserID})
	require.NoError(t, err)
	renamed, err := w.acme.UpdateKey(t.Context(), k.ID, models.UpdateAPIKeyInput{Name: set(new("other"))})
	require.NoError(t, err)
	k.Name = "other"
	require.Equal(t, k, renamed)
	before := w.dump(t, w.acme)
	_, err = w.acme.UpdateKey(t.Context(), k.ID, models.UpdateAPIKeyInput{Name: set(new(""))})
	requireCode(t, errs.Invalid, err)
	require.Equal(t, before, w.dump(t, w.acme))

	revoked, err := w.acme.RevokeKey(t.Context(), k.ID)
	require.NoError(t, err)
	require.NotNil(t, revoked.RevokedAt)
	again, err := w.acme.RevokeKey(t.Context(), k.ID)
	require.NoError(t, err)
	require.Equal(t, revoked, again, "once more changes nothing")
	_, err = w.Viewer(t.Context(), key)
	requireCode(t, errs.Unauthenticated, err)
	require.Equal(t, []string{"key.created", "key.created", "key.updated", "key.revoked"}, happened(t, w.acme))
}

func TestTouch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lastUsed := func() *time.Time {
		found, err := w.acme.KeysByID(t.Context(), []ids.ID{w.owner.KeyID})
		require.NoError(t, err)
		return found[w.owner.KeyID].LastUsedAt
	}
	require.Nil(t, lastUsed())
	at := time.Date(2026, 11, 15, 1, 2, 3, 0, time.UTC)
	require.NoError(t, w.Touch(t.Context(), []ids.ID{w.owner.KeyID}, at))
	require.Equal(t, &at, lastUsed())
	require.NoError(t, w.Touch(t.Context(), []ids.ID{w.owner.KeyID}, at.Add(-time.Second)))
	require.Equal(t, &at, lastUsed(), "a late replica does not turn the clock back")
}
