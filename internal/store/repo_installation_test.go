package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func bind(number int64, login string) *models.RepoInstallation {
	return &models.RepoInstallation{InstallationID: number, AccountLogin: login, AccountType: models.AccountTypeOrganization}
}

func TestBindInstallation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	first, isNew, err := w.acme.BindInstallation(ctx, bind(7, "acme"), true)
	require.NoError(t, err)
	require.True(t, isNew)
	change := bind(7, "acme")
	change.AccountType, change.Suspended = models.AccountTypeUser, true
	again, isNew, err := w.acme.BindInstallation(ctx, change, true)
	require.NoError(t, err)
	require.False(t, isNew)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, first.CreatedAt, again.CreatedAt)
	require.True(t, again.Suspended)
	require.Equal(t, models.AccountTypeUser, again.AccountType)
	stored, err := w.acme.RepoInstallation(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, again, stored)

	// Whose it is comes first.
	_, _, err = w.other.BindInstallation(ctx, bind(7, "acme"), true)
	requireCode(t, errs.Conflict, err)
	_, _, err = w.other.BindInstallation(ctx, bind(8, "acme"), true)
	requireCode(t, errs.Forbidden, err)
	_, _, err = w.acme.BindInstallation(ctx, bind(7, "elsewhere"), true)
	requireCode(t, errs.Forbidden, err)
	stored, err = w.acme.RepoInstallation(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, again, stored, "what is refused changes nothing")
	_, err = w.other.RepoInstallation(ctx, 8)
	require.EqualError(t, err, "no installation 8 is bound to this organization")

	for range 2 {
		require.NoError(t, w.GrantAccount(ctx, "other", "acme"))
	}
	_, isNew, err = w.other.BindInstallation(ctx, bind(8, "acme"), true)
	require.NoError(t, err)
	require.True(t, isNew)
	_, _, err = w.other.BindInstallation(ctx, bind(9, "Acme"), true)
	requireCode(t, errs.Forbidden, err)
	requireCode(t, errs.NotFound, w.GrantAccount(ctx, "nobody", "acme"))
	requireCode(t, errs.Invalid, w.GrantAccount(ctx, "other", "../acme"))
	require.Equal(t, []string{"key.created", "organization.account_granted", "installation.bound"}, happened(t, w.other))
	require.Equal(t, []string{"key.created", "installation.bound", "installation.changed"}, happened(t, w.acme))
}

// Two organizations that bind the same installation at once: one has it.
func TestBindAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for number := range int64(10) {
		var wait sync.WaitGroup
		errors := map[string]*error{"acme": new(error), "other": new(error)}
		for name, org := range map[string]store.Org{"acme": w.acme, "other": w.other} {
			wait.Go(func() {
				_, _, *errors[name] = org.BindInstallation(context.WithoutCancel(t.Context()), bind(number+1, name), true)
			})
		}
		wait.Wait()
		won := 0
		for _, err := range errors {
			if *err == nil {
				won++
			} else {
				requireCode(t, errs.Conflict, *err)
			}
		}
		require.Equal(t, 1, won)
	}
	require.Equal(t, 10, w.count(t, "SELECT count(*) FROM repo_installations"))
}
