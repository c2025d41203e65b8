package store_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// linked is what a connection of the other organization leaves behind.
type linked struct {
	link, attempt, delivery ids.ID
	repoLink                *models.RepoLink
}

// linked connects an entry of an organization with a repository, which has been published from.
func (w world) linked(t *testing.T, org store.Org, entry ids.ID) linked {
	t.Helper()
	ctx := t.Context()
	i, _, err := org.BindInstallation(ctx, bind(77, "elsewhere"), false)
	require.NoError(t, err)
	l, err := org.Connect(ctx, &models.RepoLink{EntryID: entry, RepoInstallationID: i.ID, RepoID: 7, RepoFullName: "elsewhere/pdf", DefaultBranch: "main", SkillPath: ".", TagPattern: "v*"})
	require.NoError(t, err)
	a, err := org.Attempt(ctx, l, models.PublishAttempt{Trigger: models.AttemptTriggerTag, Status: models.AttemptStatusFailed, SourceRef: "v1", Message: "none"})
	require.NoError(t, err)
	isNew, err := w.Receive(ctx, models.Received{Key: "k", Queue: "elsewhere/pdf", Event: "push", InstallationID: 77, RepoFullName: "elsewhere/pdf", Payload: map[string]any{}})
	require.NoError(t, err)
	require.True(t, isNew)
	page, err := org.RepoDeliveries(ctx, everything)
	require.NoError(t, err)
	return linked{link: l.ID, attempt: a.ID, delivery: page.Nodes[0].ID, repoLink: l}
}

// linking is the part of the table of tenancy that is about the code host.
var linking = map[string]func(t *testing.T, o store.Org, f foreign){
	"WriteBackMode": func(t *testing.T, o store.Org, _ foreign) {
		mode, err := o.WriteBackMode(t.Context())
		require.NoError(t, err)
		require.Equal(t, models.WriteBackModeOff, mode)
	},
	"SetWriteBackMode": func(t *testing.T, o store.Org, _ foreign) {
		require.NoError(t, o.SetWriteBackMode(t.Context(), models.WriteBackModeChecks))
	},
	"RepoLink": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.RepoLink(t.Context(), f.link)
		requireCode(t, errs.NotFound, err)
	},
	"RepoLinksByID":       func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RepoLinksByID, f.link) },
	"RepoLinksOfEntries":  func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RepoLinksOfEntries, f.entry) },
	"LastAttemptsOf":      func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.LastAttemptsOf, f.link) },
	"PublishAttemptsByID": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.PublishAttemptsByID, f.attempt) },
	"RepoDeliveriesByID":  func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RepoDeliveriesByID, f.delivery) },
	"RepoLinks": func(t *testing.T, o store.Org, _ foreign) {
		page, err := o.RepoLinks(t.Context(), everything)
		requireEmptyPage(t, page, err)
	},
	"RepoDeliveries": func(t *testing.T, o store.Org, _ foreign) {
		page, err := o.RepoDeliveries(t.Context(), everything)
		requireEmptyPage(t, page, err)
	},
	"AttemptsOfLinks": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.AttemptsOfLinks(t.Context(), []ids.ID{f.link}, models.AttemptList{Window: everything})
		requireEmptyPage(t, pages[f.link], err)
	},
	"ConnectedElsewhere": func(t *testing.T, o store.Org, _ foreign) { // the one thing that is told, of names that the caller knows
		found, err := o.ConnectedElsewhere(t.Context(), []string{"Elsewhere/PDF", "elsewhere/other"})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"elsewhere/pdf": true}, found)
	},
	"Connect": func(t *testing.T, o store.Org, f foreign) {
		l := *f.repoLink
		_, err := o.Connect(t.Context(), &l)
		requireCode(t, errs.NotFound, err)
	},
	"UpdateConnection": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.UpdateConnection(t.Context(), f.link, models.UpdateConnectionInput{AutoPublish: set(new(false))})
		requireCode(t, errs.NotFound, err)
	},
	"DeleteConnection": func(t *testing.T, o store.Org, f foreign) {
		requireCode(t, errs.NotFound, o.DeleteConnection(t.Context(), f.link))
	},
	"Attempt": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Attempt(t.Context(), f.repoLink, models.PublishAttempt{Trigger: models.AttemptTriggerTag, Status: models.AttemptStatusFailed, SourceRef: "v1"})
		require.Error(t, err)
	},
	"PublishFrom": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.PublishFrom(t.Context(), f.repoLink, models.PublishAttempt{}, models.NewVersion{Version: "9.9.9"}, &models.RegistryVersion{}, nil)
		requireCode(t, errs.NotFound, err)
	},
	"WroteBack": func(t *testing.T, o store.Org, f foreign) {
		require.NoError(t, o.WroteBack(t.Context(), f.attempt, models.WriteBackStatusSuccess, nil, nil))
	},
	"LinksOf": func(t *testing.T, o store.Org, _ foreign) {
		links, err := o.LinksOf(t.Context(), 77, 7, "elsewhere/renamed")
		require.NoError(t, err)
		require.Empty(t, links)
	},
	"RenameRepository": func(t *testing.T, o store.Org, _ foreign) {
		n, err := o.RenameRepository(t.Context(), 77, "elsewhere/pdf", "mine/pdf")
		require.NoError(t, err)
		require.Zero(t, n)
	},
	"SuspendInstallation": func(t *testing.T, o store.Org, _ foreign) {
		require.NoError(t, o.SuspendInstallation(t.Context(), 77, true))
	},
	"FreeInstallation": func(t *testing.T, o store.Org, _ foreign) {
		requireCode(t, errs.Conflict, o.FreeInstallation(t.Context(), bind(77, "elsewhere")))
		require.NoError(t, o.FreeInstallation(t.Context(), bind(78, "elsewhere")))
	},
	"EntryVersion": func(t *testing.T, o store.Org, f foreign) {
		v, err := o.EntryVersion(t.Context(), f.entry, "1.0.0")
		require.NoError(t, err)
		require.Nil(t, v)
	},
	"VersionNames": func(t *testing.T, o store.Org, f foreign) {
		names, err := o.VersionNames(t.Context(), f.entry, []string{"1.0.0"})
		require.NoError(t, err)
		require.Empty(t, names)
	},
}

func init() { maps.Copy(tenancy, linking) }

// A repository is followed to its new name, whether the code host says so or a push comes from there.
func TestRenamedRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.linked(t, w.acme, w.shelved(t, w.acme, "pdf", models.VisibilityOrg).entry)
	links, err := w.acme.LinksOf(t.Context(), 77, 7, "elsewhere/forms")
	require.NoError(t, err)
	require.Len(t, links, 1)
	require.Equal(t, "elsewhere/forms", links[0].RepoFullName)
	n, err := w.acme.RenameRepository(t.Context(), 77, "Elsewhere/Forms", "elsewhere/papers")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	l, err := w.acme.RepoLink(t.Context(), f.link)
	require.NoError(t, err)
	require.Equal(t, "elsewhere/papers", l.RepoFullName)
}

// Deliveries are kept for a month, those that wait for longer.
func TestPruneDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.linked(t, w.acme, w.shelved(t, w.acme, "pdf", models.VisibilityOrg).entry)
	old := func(ctx context.Context) {
		_, err := w.conn(t).Exec(ctx, "UPDATE repo_deliveries SET received_at = now() - interval '31 days'")
		require.NoError(t, err)
	}
	old(t.Context())
	require.NoError(t, w.PruneDeliveries(t.Context()))
	requireOne(t, w.acme.RepoDeliveriesByID, f.delivery)
	require.NoError(t, w.DeliveryDone(t.Context(), f.delivery, models.DeliveryStateDone, "done"))
	require.NoError(t, w.PruneDeliveries(t.Context()))
	requireNone(t, w.acme.RepoDeliveriesByID, f.delivery)
}
