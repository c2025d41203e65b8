// Package resolvers says, a sentence a field, who asks, which verb of the store it is, and what comes back.
// One file a noun: its queries, its mutations, its edges.
package resolvers

import (
	"context"

	"skillgraph/graph/generated"
	"skillgraph/graph/loader"
	"skillgraph/internal/codehost"
	"skillgraph/internal/errs"
	"skillgraph/internal/face"
	"skillgraph/internal/live"
	"skillgraph/internal/registry"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Root is the root of all resolvers, with what leads out of the process.
type Root struct {
	Alerts   Alerts
	Registry *registry.Registry
	Sources  Sources
	Host     *codehost.Host
	Live     *live.Hub
}

type (
	alertType       struct{}
	apiKey          struct{}
	dryRunDay       struct{}
	evalSuite       struct{}
	event           struct{}
	incident        struct{}
	mutation        struct{ Root }
	notification    struct{}
	organization    struct{}
	query           struct{ Root }
	skill           struct{}
	skillConfusion  struct{}
	suiteRevision   struct{}
	installation    struct{}
	registryEntry   struct{}
	registryVersion struct{ Root }
	release         struct{}
	syncEntry       struct{ Root }
	viewerType      struct{}
	repohostSource  struct {
		sourceType[*models.RepohostSource]
	}
	publishAttempt   struct{}
	repoLink         struct{}
	snapshot         struct{}
	snapshotFile     struct{ Root }
	validationReport struct{}

	caseChange         struct{}
	evalResult         struct{}
	evalRun            struct{}
	evalSuggestion     struct{}
	runComparison      struct{}
	similarSuggestion  struct{}
	suggestionEvidence struct{}
	suggestionReview   struct{}
)

// The wiring that gqlgen asks for.
func (Root) Alert() generated.AlertResolver                       { return alertType{} }
func (Root) ApiKey() generated.ApiKeyResolver                     { return apiKey{} } //nolint:revive // gqlgen's spelling
func (Root) DryRunDay() generated.DryRunDayResolver               { return dryRunDay{} }
func (Root) EvalSuite() generated.EvalSuiteResolver               { return evalSuite{} }
func (Root) Event() generated.EventResolver                       { return event{} }
func (Root) Incident() generated.IncidentResolver                 { return incident{} }
func (r Root) Mutation() generated.MutationResolver               { return mutation{r} }
func (Root) Notification() generated.NotificationResolver         { return notification{} }
func (Root) Organization() generated.OrganizationResolver         { return organization{} }
func (r Root) Query() generated.QueryResolver                     { return query{r} }
func (Root) Skill() generated.SkillResolver                       { return skill{} }
func (Root) SkillConfusion() generated.SkillConfusionResolver     { return skillConfusion{} }
func (Root) SuiteRevision() generated.SuiteRevisionResolver       { return suiteRevision{} }
func (Root) Installation() generated.InstallationResolver         { return installation{} }
func (Root) RegistryEntry() generated.RegistryEntryResolver       { return registryEntry{} }
func (r Root) RegistryVersion() generated.RegistryVersionResolver { return registryVersion{r} }
func (Root) Release() generated.ReleaseResolver                   { return release{} }
func (r Root) SyncEntry() generated.SyncEntryResolver             { return syncEntry{r} }
func (Root) Viewer() generated.ViewerResolver                     { return viewerType{} }
func (Root) RepohostSource() generated.RepohostSourceResolver     { return repohostSource{} }
func (Root) PublishAttempt() generated.PublishAttemptResolver     { return publishAttempt{} }
func (Root) RepoLink() generated.RepoLinkResolver                 { return repoLink{} }
func (Root) Snapshot() generated.SnapshotResolver                 { return snapshot{} }
func (r Root) SnapshotFile() generated.SnapshotFileResolver       { return snapshotFile{r} }
func (Root) UploadSource() generated.UploadSourceResolver         { return sourceType[*models.UploadSource]{} }
func (Root) ValidationReport() generated.ValidationReportResolver { return validationReport{} }

// What contributions ask for.
type (
	communityBundle   struct{}
	communityOverview struct{}
	proposal          struct{}
)

func (Root) CommunityBundle() generated.CommunityBundleResolver       { return communityBundle{} }
func (Root) CommunityOverview() generated.CommunityOverviewResolver   { return communityOverview{} }
func (Root) Proposal() generated.ProposalResolver                     { return proposal{} }
func (Root) CaseChange() generated.CaseChangeResolver                 { return caseChange{} }
func (Root) EvalResult() generated.EvalResultResolver                 { return evalResult{} }
func (Root) EvalRun() generated.EvalRunResolver                       { return evalRun{} }
func (Root) EvalSuggestion() generated.EvalSuggestionResolver         { return evalSuggestion{} }
func (Root) RunComparison() generated.RunComparisonResolver           { return runComparison{} }
func (Root) SimilarSuggestion() generated.SimilarSuggestionResolver   { return similarSuggestion{} }
func (Root) SuggestionEvidence() generated.SuggestionEvidenceResolver { return suggestionEvidence{} }
func (Root) SuggestionReview() generated.SuggestionReviewResolver     { return suggestionReview{} }

// org is the organization that the caller sees.
func org(ctx context.Context) store.Org { return loader.Org(ctx) }

func pageArgs(first *int, after *string, page, perPage *int) models.PageArgs {
	return models.PageArgs{First: first, After: after, Page: page, PerPage: perPage}
}

// or is what a pointer points at, or a default.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// overREST refuses a mutation that takes a file where none can come: a GraphQL request has no parts.
func overREST(ctx context.Context, route string) error {
	if face.IsREST(ctx) {
		return nil
	}
	return errs.New(errs.Invalid, "A file cannot be sent to /graphql: use %s with a multipart form", route)
}

// What the rest of the edges asks for.
type (
	communitySummary   struct{}
	organizationCounts struct{}
	repoInstallation   struct{}
	searchHit          struct{}
	signalAggregate    struct{}
	signalDetail       struct{}
	signalSkill        struct{}
	user               struct{}
)

func (Root) CommunitySummary() generated.CommunitySummaryResolver     { return communitySummary{} }
func (Root) OrganizationCounts() generated.OrganizationCountsResolver { return organizationCounts{} }
func (Root) RepoInstallation() generated.RepoInstallationResolver     { return repoInstallation{} }
func (Root) SearchHit() generated.SearchHitResolver                   { return searchHit{} }
func (Root) SignalAggregate() generated.SignalAggregateResolver       { return signalAggregate{} }
func (Root) SignalDetail() generated.SignalDetailResolver             { return signalDetail{} }
func (Root) SignalSkill() generated.SignalSkillResolver               { return signalSkill{} }
func (Root) User() generated.UserResolver                             { return user{} }

// noOrder is the one order of a list that has no others.
const noOrder = models.NoOrder("")
