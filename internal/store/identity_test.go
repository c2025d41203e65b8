package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func members(t *testing.T, org store.Org) map[string]models.Role {
	t.Helper()
	pages, err := org.MembersOf(t.Context(), []ids.ID{org.ID()}, everything)
	require.NoError(t, err)
	out := map[string]models.Role{}
	for _, u := range pages[org.ID()].Nodes {
		out[u.Email] = u.Standing
	}
	return out
}

func TestAddMember(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 1, 2, 3, 0, time.UTC)
	w := newWorldAt(t, func() time.Time { return now })
	u, err := w.acme.AddMember(t.Context(), "new@example.com", models.RoleMember)
	require.NoError(t, err)
	require.Equal(t, ids.User, u.ID.Kind())
	require.Equal(t, &models.User{ID: u.ID, Email: "new@example.com", Standing: models.RoleMember, JoinedAt: now}, u)
	joined := now
	now = now.Add(time.Hour)
	again, err := w.acme.AddMember(t.Context(), "new@example.com", models.RoleAdmin)
	require.NoError(t, err)
	require.Equal(t, &models.User{ID: u.ID, Email: "new@example.com", Standing: models.RoleAdmin, JoinedAt: joined}, again, "who is in already gets the role")
	_, err = w.acme.RemoveMember(t.Context(), u.ID)
	require.NoError(t, err)
	back, err := w.acme.AddMember(t.Context(), "new@example.com", models.RoleViewer)
	require.NoError(t, err)
	require.Equal(t, &models.User{ID: u.ID, Email: "new@example.com", Standing: models.RoleViewer, JoinedAt: now}, back, "who comes back joins anew")

	elsewhere, err := w.other.AddMember(t.Context(), "new@example.com", models.RoleOwner)
	require.NoError(t, err)
	require.Equal(t, u.ID, elsewhere.ID, "one person in two organizations")
	require.Equal(t, models.RoleViewer, members(t, w.acme)["new@example.com"])

	all := events(t, w.acme)
	require.Equal(t, []string{"key.created", "member.added", "member.added", "member.removed", "member.added"}, happened(t, w.acme))
	require.JSONEq(t, `{"email":"new@example.com","role":"viewer"}`, string(all[4].Data))
	require.Equal(t, u.ID, all[4].ObjectID)
}

func TestRemoveMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, v := dbtest.Key(t, w.Store, "acme", "leaving@example.com", models.PlanTeam, models.RoleMember)
	made := suite(t, w.Org(v.OrgID, v.UserID), "made by somebody who leaves")
	gone, err := w.acme.RemoveMember(t.Context(), v.UserID)
	require.NoError(t, err)
	require.Nil(t, gone.Role())
	require.NotContains(t, members(t, w.acme), "leaving@example.com")
	_, err = w.acme.Member(t.Context(), v.UserID)
	requireCode(t, errs.NotFound, err)
	_, err = w.Viewer(t.Context(), key)
	requireCode(t, errs.Unauthenticated, err)

	found, err := w.acme.UsersByID(t.Context(), []ids.ID{*made.CreatedByID})
	require.NoError(t, err)
	require.Equal(t, "leaving@example.com", found[*made.CreatedByID].Email, "what they made still names them")

	before := w.dump(t, w.acme)
	_, err = w.acme.RemoveMember(t.Context(), v.UserID)
	requireCode(t, errs.NotFound, err)
	_, err = w.acme.ChangeMemberRole(t.Context(), v.UserID, models.RoleAdmin)
	requireCode(t, errs.NotFound, err)
	_, _, err = w.acme.CreateKey(t.Context(), models.APIKey{Name: "late", UserID: v.UserID})
	requireCode(t, errs.NotFound, err)
	require.Equal(t, before, w.dump(t, w.acme))

	_, err = w.acme.AddMember(t.Context(), "leaving@example.com", models.RoleMember)
	require.NoError(t, err)
	_, err = w.Viewer(t.Context(), key)
	requireCode(t, errs.Unauthenticated, err) // old keys stay revoked
}

func TestChangeMemberRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, v := dbtest.Key(t, w.Store, "acme", "rising@example.com", models.PlanTeam, models.RoleMember)
	u, err := w.acme.ChangeMemberRole(t.Context(), v.UserID, models.RoleAdmin)
	require.NoError(t, err)
	require.Equal(t, new(models.RoleAdmin), u.Role())
	now, err := w.Viewer(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, models.RoleAdmin.Permissions(), now.Permissions, "a key without a list follows the role")
	all := events(t, w.acme)
	require.Equal(t, "member.role_changed", all[len(all)-1].Kind)
	require.JSONEq(t, `{"role":"admin"}`, string(all[len(all)-1].Data))
}

func TestLastOwnerStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.dump(t, w.acme)
	for name, leave := range map[string]func(ctx context.Context) (*models.User, error){
		"removed": func(ctx context.Context) (*models.User, error) { return w.acme.RemoveMember(ctx, w.owner.UserID) },
		"demoted": func(ctx context.Context) (*models.User, error) {
			return w.acme.ChangeMemberRole(ctx, w.owner.UserID, models.RoleAdmin)
		},
		"added again": func(ctx context.Context) (*models.User, error) {
			return w.acme.AddMember(ctx, "owner@example.com", models.RoleAdmin)
		},
	} {
		_, err := leave(t.Context())
		require.EqualError(t, err, "An organization keeps at least one owner: make somebody else owner first", name)
		requireCode(t, errs.Conflict, err)
		require.Equal(t, before, w.dump(t, w.acme), name)
	}
	_, err := w.acme.AddMember(t.Context(), "second@example.com", models.RoleOwner)
	require.NoError(t, err)
	_, err = w.acme.RemoveMember(t.Context(), w.owner.UserID)
	require.NoError(t, err)
}

func TestOrganizationWithoutOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, v := dbtest.Key(t, w.Store, "ownerless", "a@example.com", models.PlanFree, models.RoleAdmin)
	_, err := w.Org(v.OrgID, v.UserID).ChangeMemberRole(t.Context(), v.UserID, models.RoleViewer)
	require.NoError(t, err, "it has no owner to lose")
}

func TestTwoOwnersLeaveAtOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		w := newWorld(t)
		second, err := w.acme.AddMember(t.Context(), "second@example.com", models.RoleOwner)
		require.NoError(t, err)
		owners := []ids.ID{w.owner.UserID, second.ID}
		all := race(2, func(i int) error {
			_, err := w.acme.RemoveMember(t.Context(), owners[i])
			return err
		})
		require.Equal(t, map[errs.Code]int{"": 1, errs.Conflict: 1}, sorted(all), "%v", all)
		require.Len(t, members(t, w.acme), 1)
	}
}

func TestOneRemovalIsOneEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u, err := w.acme.AddMember(t.Context(), "leaving@example.com", models.RoleMember)
	require.NoError(t, err)
	all := race(10, func(int) error {
		_, err := w.acme.RemoveMember(t.Context(), u.ID)
		return err
	})
	require.Equal(t, map[errs.Code]int{"": 1, errs.NotFound: 9}, sorted(all), "%v", all)
	require.Equal(t, []string{"key.created", "member.added", "member.removed"}, happened(t, w.acme))
}

func TestManyAddTheSameAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgs := []store.Org{w.acme, w.other}
	all := race(20, func(i int) error {
		_, err := orgs[i%2].AddMember(t.Context(), "new@example.com", models.RoleMember)
		return err
	})
	require.Equal(t, map[errs.Code]int{"": 20}, sorted(all), "%v", all)
	require.Equal(t, 1, w.count(t, "SELECT count(*) FROM users WHERE email = 'new@example.com'"))
	require.Equal(t, 2, w.count(t, "SELECT count(*) FROM members m JOIN users u ON u.id = m.user_id WHERE u.email = 'new@example.com'"))
}

// The operator and the members themselves add the same people: nobody waits for the other in a circle.
func TestGrantBesideAddMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := race(40, func(i int) error {
		email := fmt.Sprintf("person%d@example.com", i/4)
		if i%2 == 0 {
			_, _, err := w.Grant(t.Context(), store.Grant{Org: "acme", Email: email, KeyName: "k"})
			return err
		}
		_, err := w.acme.AddMember(t.Context(), email, models.RoleAdmin)
		return err
	})
	require.Equal(t, map[errs.Code]int{"": 40}, sorted(all), "%v", all)
	require.Len(t, members(t, w.acme), 11)
}

// Who writes a suite does not wait for somebody who changes members.
func TestMembersDoNotBlockSuites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn := w.conn(t)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "UPDATE users SET email = email WHERE id = $1", w.stranger.UserID) // AddMember will wait here, in the middle
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := w.acme.AddMember(context.WithoutCancel(t.Context()), "stranger@example.com", models.RoleMember)
		done <- err
	}()
	w.waitForBlocked(t)
	suite(t, w.acme, "meanwhile")
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-done)
}

// waitForBlocked waits until a statement of the store waits for a lock.
func (w world) waitForBlocked(t *testing.T) {
	t.Helper()
	conn := w.conn(t)
	require.Eventually(t, func() bool {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		return err == nil && n > 0
	}, 10*time.Second, time.Millisecond)
}
