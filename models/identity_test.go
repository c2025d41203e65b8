package models_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

// The table of answers.md, word for word.
func TestRoles(t *testing.T) {
	t.Parallel()
	want := map[models.Role]string{
		models.RoleViewer: "",
		models.RoleMember: "telemetry:write sources:write community:write registry:push registry:install",
		models.RoleAdmin:  "telemetry:write alerts:write sources:write community:write keys:manage registry:push registry:rollback registry:install",
		models.RoleOwner:  "telemetry:write alerts:write sources:write community:write keys:manage registry:push registry:rollback registry:install registry:delete",
	}
	require.Len(t, want, len(models.AllRole))
	for role, words := range want {
		got := []string{}
		for _, p := range role.Permissions() {
			got = append(got, p.Wire())
		}
		require.Equal(t, words, strings.Join(got, " "), role)
		require.NotNil(t, role.Permissions())
	}
	for i, low := range models.AllRole {
		for _, high := range models.AllRole[i:] {
			require.True(t, models.Covers(high.Permissions(), low.Permissions()), "%s covers %s", high, low)
			require.Equal(t, low == high, models.Covers(low.Permissions(), high.Permissions()), "%s covers %s", low, high)
		}
	}
}

func TestInOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, []models.Permission{models.PermissionAlertsWrite, models.PermissionRegistryDelete},
		models.InOrder([]models.Permission{models.PermissionRegistryDelete, models.PermissionAlertsWrite, models.PermissionRegistryDelete}))
	require.Equal(t, []models.Permission{}, models.InOrder(nil))
	require.Equal(t, models.AllPermission, models.InOrder(models.AllPermission))
}

func TestPlans(t *testing.T) {
	t.Parallel()
	require.Equal(t, []models.Plan{models.PlanFree, models.PlanPro, models.PlanTeam, models.PlanEnterprise}, models.AllPlan)
	for i, p := range models.AllPlan {
		for j, q := range models.AllPlan {
			require.Equal(t, i >= j, p.AtLeast(q), "%s has everything of %s", p, q)
		}
	}
}

func TestViewerGivesNoMoreThanItHas(t *testing.T) {
	t.Parallel()
	for _, own := range models.AllRole {
		v := &models.Viewer{Permissions: own.Permissions()}
		for _, p := range models.AllPermission {
			require.Equal(t, models.Covers(own.Permissions(), []models.Permission{p}), v.Can(p))
		}
		for _, given := range models.AllRole {
			err := v.MayGive(given)
			if models.Covers(own.Permissions(), given.Permissions()) {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, "You may not make somebody "+given.Wire()+": that role may do more than this key")
				require.Equal(t, errs.Forbidden, errs.CodeOf(err))
			}
		}
	}
}

func TestCreateAPIKeyInput(t *testing.T) {
	t.Parallel()
	admin := &models.Viewer{Permissions: models.RoleAdmin.Permissions()}
	owner, member := &models.User{Standing: models.RoleOwner}, &models.User{Standing: models.RoleMember}
	require.NoError(t, models.CreateAPIKeyInput{}.Validate(admin, member))
	require.NoError(t, models.CreateAPIKeyInput{Permissions: set[[]models.Permission](nil)}.Validate(admin, member))
	require.NoError(t, models.CreateAPIKeyInput{Permissions: set([]models.Permission{})}.Validate(admin, owner))
	require.NoError(t, models.CreateAPIKeyInput{Permissions: set([]models.Permission{models.PermissionKeysManage})}.Validate(admin, owner))
	for _, in := range []models.CreateAPIKeyInput{{}, {Permissions: set[[]models.Permission](nil)}, {Permissions: set([]models.Permission{models.PermissionRegistryDelete})}} {
		err := in.Validate(admin, owner)
		require.EqualError(t, err, "You may not make a key that may do more than your own: name the permissions it should have")
		require.Equal(t, errs.Forbidden, errs.CodeOf(err))
	}
}

func TestOrganizationNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "0", "acme", "a.b_c-d", strings.Repeat("a", 100)} {
		require.NoError(t, models.Organization{Name: name}.Validate(), name)
	}
	for _, name := range []string{"", "Acme", "-a", ".a", "_a", "a b", "a/b", "ä", "a\n", "a\x00", strings.Repeat("a", 101)} {
		requireRefused(t, models.Organization{Name: name}.Validate(),
			"must be 1 to 100 lower-case letters, digits, dots, hyphens or underscores, beginning with a letter or digit", "name")
	}
}

func TestUserRole(t *testing.T) {
	t.Parallel()
	u := &models.User{Standing: models.RoleAdmin}
	require.Equal(t, new(models.RoleAdmin), u.Role())
	u.RemovedAt = new(time.Now())
	require.Nil(t, u.Role(), "somebody who has left has none")
}

func TestAPIKeyRules(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.NoError(t, models.APIKey{Name: "k"}.Validate(now))
	require.NoError(t, models.APIKey{Name: "k", ExpiresAt: new(now.Add(time.Millisecond))}.Validate(now))
	requireRefused(t, models.APIKey{}.Validate(now), "must not be empty", "name")
	requireRefused(t, models.APIKey{Name: strings.Repeat("x", 201)}.Validate(now), "must be at most 200 characters long", "name")
	requireRefused(t, models.APIKey{Name: "k", ExpiresAt: &now}.Validate(now), "must be in the future", "expiresAt")
}

func TestUpdateAPIKeyInput(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later, past := now.Add(time.Hour), now.Add(-time.Hour)
	apply := func(k models.APIKey, in models.UpdateAPIKeyInput) (models.APIKey, error) {
		err := in.Apply(&k, now)
		return k, err
	}
	expired := models.APIKey{Name: "k", ExpiresAt: &past}
	got, err := apply(expired, models.UpdateAPIKeyInput{})
	require.NoError(t, err)
	require.Equal(t, expired, got)
	got, err = apply(expired, models.UpdateAPIKeyInput{Name: set(new("other"))})
	require.NoError(t, err, "an expired key can be renamed")
	require.Equal(t, models.APIKey{Name: "other", ExpiresAt: &past}, got)
	got, err = apply(expired, models.UpdateAPIKeyInput{ExpiresAt: set(&later)})
	require.NoError(t, err)
	require.Equal(t, &later, got.ExpiresAt)
	got, err = apply(expired, models.UpdateAPIKeyInput{ExpiresAt: set[*time.Time](nil)})
	require.NoError(t, err)
	require.Nil(t, got.ExpiresAt, "null: never")
	_, err = apply(expired, models.UpdateAPIKeyInput{ExpiresAt: set(&past)})
	requireRefused(t, err, "must be in the future", "expiresAt")
	_, err = apply(expired, models.UpdateAPIKeyInput{Name: set[*string](nil)})
	requireRefused(t, err, "must not be null", "name")
	_, err = apply(expired, models.UpdateAPIKeyInput{Name: set(new(" "))})
	requireRefused(t, err, "must not be empty", "name")
}

func TestNewKey(t *testing.T) {
	t.Parallel()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	seen, letters := map[string]bool{}, map[rune]int{}
	for range 1000 {
		key := models.NewKey()
		random, ok := strings.CutPrefix(key, "sg_live_")
		require.True(t, ok)
		require.GreaterOrEqual(t, len(random), 32)
		require.False(t, seen[key])
		seen[key] = true
		require.True(t, models.LooksLikeKey(key))
		require.Equal(t, key[:12], models.KeyPrefix(key))
		hash := sha256.Sum256([]byte(key))
		require.Equal(t, hash[:], models.HashKey(key))
		for _, c := range random {
			require.Contains(t, alphabet, string(c))
			letters[c]++
		}
	}
	// 40,000 draws from 62 letters: 645 of each, give or take 25. Ten times that is never chance.
	require.Len(t, letters, len(alphabet))
	for c, n := range letters {
		require.InDelta(t, 40_000.0/62, n, 250, string(c))
	}
}

func TestLooksLikeKey(t *testing.T) {
	t.Parallel()
	require.True(t, models.LooksLikeKey("sg_live_"+strings.Repeat("a", 32)))
	for _, s := range []string{"", "sg_live_", "sg_live_" + strings.Repeat("a", 31), "sg_test_" + strings.Repeat("a", 40), "Sg_live_" + strings.Repeat("a", 40), "sg_live_" + strings.Repeat("a", 200)} {
		require.False(t, models.LooksLikeKey(s), s)
	}
}
