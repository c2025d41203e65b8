package resolvers

import (
	"context"

	"skillgraph/graph/generated"
	"skillgraph/graph/loader"
	"skillgraph/internal/ids"
	"skillgraph/internal/live"
	"skillgraph/models"
)

// What happens, as it happens: one stream, seen in several ways.
type (
	subscription     struct{ Root }
	alertUpdate      struct{}
	registryUpdate   struct{}
	runUpdate        struct{}
	skillUpdate      struct{}
	suggestionUpdate struct{}
	syncUpdate       struct{}
)

func (r Root) Subscription() generated.SubscriptionResolver       { return subscription{r} }
func (Root) AlertUpdate() generated.AlertUpdateResolver           { return alertUpdate{} }
func (Root) RegistryUpdate() generated.RegistryUpdateResolver     { return registryUpdate{} }
func (Root) RunUpdate() generated.RunUpdateResolver               { return runUpdate{} }
func (Root) SkillUpdate() generated.SkillUpdateResolver           { return skillUpdate{} }
func (Root) SuggestionUpdate() generated.SuggestionUpdateResolver { return suggestionUpdate{} }
func (Root) SyncUpdate() generated.SyncUpdateResolver             { return syncUpdate{} }

func (s subscription) Events(ctx context.Context, after *ids.ID, kinds []string, objects []ids.ID) (<-chan *models.Event, error) {
	return follow(ctx, s.Live, after, live.Filter{Kinds: kinds, Objects: objects}, func(e *models.Event) *models.Event { return e })
}

func (s subscription) SkillUpdates(ctx context.Context, after *ids.ID, skills []ids.ID) (<-chan *models.SkillUpdate, error) {
	return updates(ctx, s.Live, func(e *models.Event) *models.SkillUpdate { return &models.SkillUpdate{Event: e} }, after, skills, about(ids.Skill), "skill.*")
}

func (s subscription) AlertUpdates(ctx context.Context, after *ids.ID, alerts []ids.ID) (<-chan *models.AlertUpdate, error) {
	return updates(ctx, s.Live, func(e *models.Event) *models.AlertUpdate { return &models.AlertUpdate{Event: e} }, after, alerts, about(ids.Alert, "alert_id"), "alert.*", "incident.*")
}

func (s subscription) RegistryUpdates(ctx context.Context, after *ids.ID, entries []ids.ID) (<-chan *models.RegistryUpdate, error) {
	return updates(ctx, s.Live, func(e *models.Event) *models.RegistryUpdate { return &models.RegistryUpdate{Event: e} }, after, entries, about(ids.Entry, "entry_id"), "entry.*", "version.*")
}

func (s subscription) SyncUpdates(ctx context.Context, after *ids.ID, origins []ids.ID) (<-chan *models.SyncUpdate, error) {
	return updates(ctx, s.Live, func(e *models.Event) *models.SyncUpdate { return &models.SyncUpdate{Event: e} }, after, origins, func(e *models.Event) *ids.ID {
		if source := e.About(ids.Source, "source_id"); source != nil {
			return source
		}
		return e.About(ids.RepoLink, "connection_id")
	}, "source.*", "snapshot.*", "connection.*")
}

func (s subscription) SuggestionUpdates(ctx context.Context, after *ids.ID, sources []ids.ID) (<-chan *models.SuggestionUpdate, error) {
	return updates(ctx, s.Live, func(e *models.Event) *models.SuggestionUpdate { return &models.SuggestionUpdate{Event: e} }, after, sources, about(ids.Source, "source_id"), "suggestion.*", "source.suggestions_changed")
}

func (s subscription) RunUpdates(ctx context.Context, after *ids.ID, suites []ids.ID) (<-chan *models.RunUpdate, error) {
	return updates(ctx, s.Live, func(e *models.Event) *models.RunUpdate { return &models.RunUpdate{Event: e} }, after, suites, about(ids.Suite, "suite_id"), "run.*")
}

func updates[T any](ctx context.Context, hub *live.Hub, show func(*models.Event) T, after *ids.ID, objects []ids.ID, subject func(*models.Event) *ids.ID, kinds ...string) (<-chan T, error) {
	return follow(ctx, hub, after, live.Filter{Kinds: kinds, Objects: objects, Subject: subject}, show)
}

func follow[T any](ctx context.Context, hub *live.Hub, after *ids.ID, f live.Filter, show func(*models.Event) T) (<-chan T, error) {
	return live.Subscribe(ctx, func() (*live.Stream, error) { return hub.Follow(ctx, org(ctx), after, f) }, show)
}

func about(kind ids.Kind, details ...string) func(*models.Event) *ids.ID {
	return func(e *models.Event) *ids.ID { return e.About(kind, details...) }
}

func (alertUpdate) Alert(ctx context.Context, u *models.AlertUpdate) (*models.Alert, error) {
	return loader.One(ctx, loader.UpdateAlert, u)
}

func (alertUpdate) Incident(ctx context.Context, u *models.AlertUpdate) (*models.Incident, error) {
	return loader.One(ctx, loader.UpdateIncident, u)
}

func (registryUpdate) Entry(ctx context.Context, u *models.RegistryUpdate) (*models.RegistryEntry, error) {
	return loader.One(ctx, loader.UpdateEntry, u)
}

func (registryUpdate) Version(ctx context.Context, u *models.RegistryUpdate) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.UpdateVersion, u)
}

func (runUpdate) Run(ctx context.Context, u *models.RunUpdate) (*models.EvalRun, error) {
	return loader.One(ctx, loader.UpdateRun, u)
}

func (skillUpdate) Skill(ctx context.Context, u *models.SkillUpdate) (*models.Skill, error) {
	return loader.One(ctx, loader.UpdateSkill, u)
}

func (suggestionUpdate) Source(ctx context.Context, u *models.SuggestionUpdate) (models.TypedSource, error) {
	return typed(loader.One(ctx, loader.UpdatedSource, u))
}

func (suggestionUpdate) Suggestion(ctx context.Context, u *models.SuggestionUpdate) (*models.EvalSuggestion, error) {
	return loader.One(ctx, loader.UpdateSuggestion, u)
}

func (syncUpdate) Source(ctx context.Context, u *models.SyncUpdate) (models.TypedSource, error) {
	return typed(loader.One(ctx, loader.UpdateSource, u))
}

func (syncUpdate) Snapshot(ctx context.Context, u *models.SyncUpdate) (*models.Snapshot, error) {
	return loader.One(ctx, loader.UpdateSnapshot, u)
}

func (syncUpdate) Connection(ctx context.Context, u *models.SyncUpdate) (*models.RepoLink, error) {
	return loader.One(ctx, loader.UpdateConnection, u)
}
