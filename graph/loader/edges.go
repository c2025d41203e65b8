package loader

import (
	"context"
	"maps"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Every edge of the graph: where it starts, what it is asked with, and the store's batch that answers.
var (
	BundleContent      = one("CommunityBundle.bundle", func(b *models.CommunityBundle) *ids.ID { return &b.ID }, store.Org.BundleContents)
	OverviewBundles    = many("CommunityOverview.recentSubmissions", func(o *models.CommunityOverview) *ids.ID { return &o.CreatorID }, store.Org.RecentBundlesOf)
	ProposalApplier    = one("Proposal.appliedBy", func(p *models.Proposal) *ids.ID { return p.AppliedByID }, store.Org.UsersByID)
	ProposalDecider    = one("Proposal.decidedBy", func(p *models.Proposal) *ids.ID { return p.DecidedByID }, store.Org.UsersByID)
	ProposalSkill      = one("Proposal.skill", func(p *models.Proposal) *ids.ID { return p.SkillID }, store.Org.SkillsByID)
	SkillCommunity     = one("Skill.community", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.BundleSummariesOf)
	SkillProposals     = list("Skill.proposals", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.ProposalsOf)
	SkillSignals       = one("Skill.signals", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.SignalsOf)
	ViewerSubmissions  = page("Viewer.submissions", func(v *models.Viewer) *ids.ID { return &v.UserID }, store.Org.BundlesOf)
	AlertAuthor        = one("Alert.createdBy", func(a *models.Alert) *ids.ID { return a.CreatedByID }, store.Org.UsersByID)
	AlertIncidents     = list("Alert.incidents", func(a *models.Alert) *ids.ID { return &a.ID }, store.Org.IncidentsOfAlerts)
	AlertNotifications = page("Alert.notifications", func(a *models.Alert) *ids.ID { return &a.ID }, store.Org.NotificationsOf)
	AlertSkill         = one("Alert.skill", func(a *models.Alert) *ids.ID { return a.SkillID }, store.Org.SkillsByID)
	DryRunSkill        = one("DryRunDay.skill", func(d *models.DryRunDay) *ids.ID { return &d.SkillID }, store.Org.SkillsByID)
	IncidentAlert      = one("Incident.alert", func(i *models.Incident) *ids.ID { return &i.AlertID }, store.Org.AlertsByID)
	IncidentSkill      = one("Incident.skill", func(i *models.Incident) *ids.ID { return &i.SkillID }, store.Org.SkillsByID)
	NoticeAttempts     = one("Notification.attempts", func(n *models.Notification) *ids.ID { return &n.ID }, store.Org.AttemptsOf)
	NoticeIncident     = one("Notification.incident", func(n *models.Notification) *ids.ID { return &n.IncidentID }, store.Org.IncidentsByID)
	SkillAlerts        = list("Skill.alerts", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.AlertsOf)
	SkillIncidents     = list("Skill.incidents", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.IncidentsOfSkills)
	APIKeyUser         = one("ApiKey.user", func(k *models.APIKey) *ids.ID { return &k.UserID }, store.Org.UsersByID)
	EventActor         = one("Event.actor", func(e *models.Event) *ids.ID { return e.ActorID }, store.Org.UsersByID)
	EventObject        = one("Event.object", func(e *models.Event) *ids.ID { return &e.ObjectID }, nodes)
	NodeByID           = one("Query.node", func(id *ids.ID) *ids.ID { return id }, nodes)
	OrgAPIKeys         = page("Organization.apiKeys", func(o *models.Organization) *ids.ID { return &o.ID }, store.Org.KeysOf)
	OrgMembers         = page("Organization.members", func(o *models.Organization) *ids.ID { return &o.ID }, store.Org.MembersOf)
	RevisionCases      = one("SuiteRevision.casesJson", func(r *models.SuiteRevision) *ids.ID { return &r.ID }, store.Org.CasesOfRevisions)
	RevisionAuthor     = one("SuiteRevision.createdBy", func(r *models.SuiteRevision) *ids.ID { return r.CreatedByID }, store.Org.UsersByID)
	RevisionSuite      = one("SuiteRevision.suite", func(r *models.SuiteRevision) *ids.ID { return &r.SuiteID }, store.Org.SuitesByID)
	ConfusionSkill     = one("SkillConfusion.skill", func(c *models.SkillConfusion) *ids.ID { return &c.OtherID }, store.Org.SkillsByID)
	SkillBreakdowns    = many("Skill.breakdown", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.BreakdownsOf)
	SkillByKey         = oneBy("Query.skill", func(org *ids.ID) *ids.ID { return org }, skillByKey)
	SkillConfusions    = many("Skill.confusedWith", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.ConfusionsOf)
	SkillDays          = many("Skill.dailyStats", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.DaysOf)
	SkillRates         = one("Skill.rates", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.RatesOf)
	SuiteAuthor        = one("EvalSuite.createdBy", func(s *models.EvalSuite) *ids.ID { return s.CreatedByID }, store.Org.UsersByID)
	SuiteCases         = one("EvalSuite.casesJson", func(s *models.EvalSuite) *ids.ID { return &s.ID }, store.Org.CasesOfSuites)
	SuiteRevisions     = page("EvalSuite.revisions", func(s *models.EvalSuite) *ids.ID { return &s.ID }, store.Org.RevisionsOf)
	ViewerAPIKey       = one("Viewer.apiKey", func(v *models.Viewer) *ids.ID { return &v.KeyID }, store.Org.KeysByID)
	ViewerOrg          = one("Viewer.organization", func(v *models.Viewer) *ids.ID { return &v.OrgID }, store.Org.OrganizationsByID)
	ViewerUser         = one("Viewer.user", func(v *models.Viewer) *ids.ID { return &v.UserID }, store.Org.UsersByID)
	EntryByID          = one("Query.entry", func(id *ids.ID) *ids.ID { return id }, store.Org.EntriesByID)
	EntryAlerts        = list("RegistryEntry.alerts", ownSkill, store.Org.AlertsOf)
	EntryAuthor        = one("RegistryEntry.createdBy", func(e *models.RegistryEntry) *ids.ID { return e.CreatedByID }, store.Org.UsersByID)
	EntryCurrent       = one("RegistryEntry.currentVersion", func(e *models.RegistryEntry) *ids.ID { return e.CurrentVersionID }, store.Org.VersionsByID)
	EntryEvidence      = one("RegistryEntry.evidence", func(e *models.RegistryEntry) *ids.ID { return &e.ID }, store.Org.EntryEvidenceOf)
	EntryInstallCount  = one("RegistryEntry.installationCount", func(e *models.RegistryEntry) *ids.ID { return &e.ID }, store.Org.InstallationCounts)
	EntryInstalls      = page("RegistryEntry.installations", func(e *models.RegistryEntry) *ids.ID { return &e.ID }, store.Org.InstallationsOf)
	EntryOrgName       = one("RegistryEntry.organizationName", func(e *models.RegistryEntry) *ids.ID { return &e.ID }, store.Org.OrganizationNames)
	EntryReleases      = page("RegistryEntry.releases", func(e *models.RegistryEntry) *ids.ID { return &e.ID }, store.Org.ReleasesOf)
	EntrySkill         = one("RegistryEntry.skill", ownSkill, store.Org.SkillsByID)
	EntryVersion       = add(&Edge[models.RegistryEntry, *models.RegistryVersion, string]{Name: "RegistryEntry.version", Key: func(e *models.RegistryEntry) *ids.ID { return &e.ID }, Load: store.Org.VersionNamed})
	EntryVersions      = add(&Edge[models.RegistryEntry, *models.RegistryVersionConnection, models.VersionList]{Name: "RegistryEntry.versions", Key: func(e *models.RegistryEntry) *ids.ID { return &e.ID }, Load: store.Org.VersionsOf})
	InstallEntry       = one("Installation.entry", func(i *models.Installation) *ids.ID { return &i.EntryID }, store.Org.EntriesByID)
	InstallUser        = one("Installation.user", func(i *models.Installation) *ids.ID { return &i.UserID }, store.Org.UsersByID)
	InstallVersion     = one("Installation.version", func(i *models.Installation) *ids.ID { return i.VersionID }, store.Org.VersionsByID)
	ReleaseAuthor      = one("Release.createdBy", func(r *models.Release) *ids.ID { return r.CreatedByID }, store.Org.UsersByID)
	ReleaseFrom        = one("Release.from", func(r *models.Release) *ids.ID { return r.FromID }, store.Org.VersionsByID)
	ReleaseTo          = one("Release.to", func(r *models.Release) *ids.ID { return r.ToID }, store.Org.VersionsByID)
	SkillEntry         = one("Skill.registryEntry", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.EntriesOfSkills)
	VersionAuthor      = one("RegistryVersion.pushedBy", func(v *models.RegistryVersion) *ids.ID { return v.PushedByID }, store.Org.UsersByID)
	VersionEntry       = one("RegistryVersion.entry", func(v *models.RegistryVersion) *ids.ID { return &v.EntryID }, store.Org.EntriesByID)
	VersionFiles       = one("RegistryVersion.files", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.VersionFilesOf)
	VersionInstalls    = one("RegistryVersion.installationCount", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.VersionInstallationCounts)
	VersionManifest    = one("RegistryVersion.fileManifest", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.ManifestsOf)
	VersionQuality     = one("RegistryVersion.quality", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.QualityOf)
	AttemptLink        = one("PublishAttempt.link", func(a *models.PublishAttempt) *ids.ID { return &a.LinkID }, store.Org.RepoLinksByID)
	AttemptVersion     = one("PublishAttempt.version", func(a *models.PublishAttempt) *ids.ID { return a.VersionID }, store.Org.VersionsByID)
	EntryLink          = one("RegistryEntry.repoLink", func(e *models.RegistryEntry) *ids.ID { return &e.ID }, store.Org.RepoLinksOfEntries)
	LinkAttempts       = list("RepoLink.attempts", func(l *models.RepoLink) *ids.ID { return &l.ID }, store.Org.AttemptsOfLinks)
	LinkAuthor         = one("RepoLink.createdBy", func(l *models.RepoLink) *ids.ID { return l.CreatedByID }, store.Org.UsersByID)
	LinkEntry          = one("RepoLink.entry", func(l *models.RepoLink) *ids.ID { return &l.EntryID }, store.Org.EntriesByID)
	LinkInstallation   = one("RepoLink.installation", func(l *models.RepoLink) *ids.ID { return &l.RepoInstallationID }, store.Org.RepoInstallationsByID)
	LinkLastAttempt    = one("RepoLink.lastAttempt", func(l *models.RepoLink) *ids.ID { return &l.ID }, store.Org.LastAttemptsOf)
	OrganizationByID   = one("Query.organization", func(v *models.Viewer) *ids.ID { return &v.OrgID }, store.Org.OrganizationsByID)
	// The edges of contributions.

	ReportSnapshot     = one("ValidationReport.snapshot", func(r *models.ValidationReport) *ids.ID { return &r.SnapshotID }, store.Org.SnapshotsByID)
	SkillSources       = list("Skill.sources", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.SourcesOf)
	SnapshotAuthor     = one("Snapshot.createdBy", func(s *models.Snapshot) *ids.ID { return s.CreatedByID }, store.Org.UsersByID)
	SnapshotFile       = oneBy("Snapshot.file", func(s *models.Snapshot) *ids.ID { return &s.ID }, store.Org.FileAt)
	SnapshotFiles      = page("Snapshot.files", func(s *models.Snapshot) *ids.ID { return &s.ID }, store.Org.FilesOf)
	SnapshotReport     = one("Snapshot.report", func(s *models.Snapshot) *ids.ID { return &s.ID }, store.Org.ReportsOfSnapshots)
	SnapshotSource     = one("Snapshot.source", func(s *models.Snapshot) *ids.ID { return &s.SourceID }, store.Org.SourcesByID)
	SourceAuthor       = one("CloudSource.createdBy", func(s *models.CloudSource) *ids.ID { return s.CreatedByID }, store.Org.UsersByID)
	SourceCurrent      = one("CloudSource.currentSnapshot", func(s *models.CloudSource) *ids.ID { return &s.ID }, store.Org.CurrentSnapshots)
	SourceInstallation = one("RepohostSource.installation", func(s *models.RepohostSource) *ids.ID { return s.BoundID }, store.Org.RepoInstallationsByID)
	SourceReports      = page("CloudSource.validationReports", func(s *models.CloudSource) *ids.ID { return &s.ID }, store.Org.ReportsOf)
	SourceSkill        = one("CloudSource.skill", func(s *models.CloudSource) *ids.ID { return s.SkillID }, store.Org.SkillsByID)
	SourceSnapshots    = page("CloudSource.snapshots", func(s *models.CloudSource) *ids.ID { return &s.ID }, store.Org.SnapshotsOf)
	SourceSuites       = page("CloudSource.suites", func(s *models.CloudSource) *ids.ID { return &s.ID }, store.Org.SuitesOf)
	SuiteSource        = one("EvalSuite.source", func(s *models.EvalSuite) *ids.ID { return s.SourceID }, store.Org.SourcesByID)

	ChangeBase         = one("CaseChange.base", func(c *models.CaseChange) *ids.ID { return &c.BaseID }, store.Org.ResultsByID)
	ChangeHead         = one("CaseChange.head", func(c *models.CaseChange) *ids.ID { return &c.HeadID }, store.Org.ResultsByID)
	ComparisonBase     = one("RunComparison.base", func(c *models.RunComparison) *ids.ID { return &c.BaseID }, store.Org.RunsByID)
	ComparisonHead     = one("RunComparison.head", func(c *models.RunComparison) *ids.ID { return &c.HeadID }, store.Org.RunsByID)
	EvidenceRun        = one("SuggestionEvidence.run", func(e *models.SuggestionEvidence) *ids.ID { return e.RunID }, store.Org.RunsByID)
	ResultCase         = one("EvalResult.case", func(r *models.EvalResult) *ids.ID { return &r.RunID }, store.Org.CasesOfRuns)
	ResultRun          = one("EvalResult.run", func(r *models.EvalResult) *ids.ID { return &r.RunID }, store.Org.RunsByID)
	ReviewAuthor       = one("SuggestionReview.reviewedBy", func(r *models.SuggestionReview) *ids.ID { return r.ReviewedByID }, store.Org.UsersByID)
	ReviewSuggestion   = one("SuggestionReview.suggestion", func(r *models.SuggestionReview) *ids.ID { return &r.SuggestionID }, store.Org.SuggestionsByID)
	ReviewSuite        = one("SuggestionReview.appliedSuite", func(r *models.SuggestionReview) *ids.ID { return r.AppliedSuiteID }, store.Org.SuitesByID)
	RunAuthor          = one("EvalRun.createdBy", func(r *models.EvalRun) *ids.ID { return r.CreatedByID }, store.Org.UsersByID)
	RunPrevious        = one("EvalRun.previous", func(r *models.EvalRun) *ids.ID { return &r.ID }, store.Org.PreviousRuns)
	RunResults         = list("EvalRun.results", func(r *models.EvalRun) *ids.ID { return &r.ID }, store.Org.ResultsOf)
	RunRevision        = one("EvalRun.suiteRevision", func(r *models.EvalRun) *ids.ID { return &r.ID }, store.Org.RevisionsOfRuns)
	RunSuite           = one("EvalRun.suite", func(r *models.EvalRun) *ids.ID { return &r.SuiteID }, store.Org.SuitesByID)
	SimilarSuggestion  = one("SimilarSuggestion.suggestion", func(s *models.SimilarSuggestion) *ids.ID { return &s.SuggestionID }, store.Org.SuggestionsByID)
	SkillSuggestions   = list("Skill.suggestions", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.SuggestionsOfSkills)
	SuggestionEvidence = page("EvalSuggestion.evidence", func(s *models.EvalSuggestion) *ids.ID { return &s.ID }, store.Org.EvidenceOf)
	SuggestionReviews  = one("EvalSuggestion.review", func(s *models.EvalSuggestion) *ids.ID { return &s.ID }, store.Org.ReviewsOfSuggestions)
	SuggestionSimilar  = many("EvalSuggestion.similar", func(s *models.EvalSuggestion) *ids.ID { return &s.ID }, store.Org.SimilarTo)
	ReviewSource       = one("SuggestionReview.cloudSource", func(r *models.SuggestionReview) *ids.ID { return &r.SourceID }, store.Org.SourcesByID)
	RunSnapshot        = one("EvalRun.snapshot", func(r *models.EvalRun) *ids.ID { return r.SnapshotID }, store.Org.SnapshotsByID)
	SnapshotRuns       = list("Snapshot.runs", func(s *models.Snapshot) *ids.ID { return &s.ID }, store.Org.RunsOfSnapshots)
	SourceReviews      = list("CloudSource.reviews", func(s *models.CloudSource) *ids.ID { return &s.ID }, store.Org.ReviewsOf)
	SourceSuggestions  = list("CloudSource.suggestions", func(s *models.CloudSource) *ids.ID { return &s.ID }, store.Org.SuggestionsOf)
	SuggestionSource   = one("EvalSuggestion.cloudSource", func(s *models.EvalSuggestion) *ids.ID { return &s.SourceID }, store.Org.SourcesByID)
	UpdateAlert        = one("AlertUpdate.alert", func(u *models.AlertUpdate) *ids.ID { return u.Event.About(ids.Alert, "alert_id") }, store.Org.AlertsByID)
	UpdateConnection   = one("SyncUpdate.connection", func(u *models.SyncUpdate) *ids.ID { return u.Event.About(ids.RepoLink, "connection_id") }, store.Org.RepoLinksByID)
	UpdateEntry        = one("RegistryUpdate.entry", func(u *models.RegistryUpdate) *ids.ID { return u.Event.About(ids.Entry, "entry_id") }, store.Org.EntriesByID)
	UpdateIncident     = one("AlertUpdate.incident", func(u *models.AlertUpdate) *ids.ID { return u.Event.About(ids.Incident) }, store.Org.IncidentsByID)
	UpdateRun          = one("RunUpdate.run", func(u *models.RunUpdate) *ids.ID { return u.Event.About(ids.Run) }, store.Org.RunsByID)
	UpdateSkill        = one("SkillUpdate.skill", func(u *models.SkillUpdate) *ids.ID { return u.Event.About(ids.Skill) }, store.Org.SkillsByID)
	UpdateSnapshot     = one("SyncUpdate.snapshot", func(u *models.SyncUpdate) *ids.ID { return u.Event.About(ids.Snapshot) }, store.Org.SnapshotsByID)
	UpdateSource       = one("SyncUpdate.source", func(u *models.SyncUpdate) *ids.ID { return u.Event.About(ids.Source, "source_id") }, store.Org.SourcesByID)
	UpdatedSource      = one("SuggestionUpdate.source", func(u *models.SuggestionUpdate) *ids.ID { return u.Event.About(ids.Source, "source_id") }, store.Org.SourcesByID)
	UpdateSuggestion   = one("SuggestionUpdate.suggestion", func(u *models.SuggestionUpdate) *ids.ID { return u.Event.About(ids.Suggestion) }, store.Org.SuggestionsByID)
	UpdateVersion      = one("RegistryUpdate.version", func(u *models.RegistryUpdate) *ids.ID {
		return u.Event.About(ids.Version, "version_id", "to_version_id")
	}, store.Org.VersionsByID)
	SuiteRuns = list("EvalSuite.runs", func(s *models.EvalSuite) *ids.ID { return &s.ID }, store.Org.RunsOf)

	SkillBundles     = page("Skill.submissions", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.BundlesOfSkills)
	SkillRuns        = list("Skill.runs", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.RunsOfSkills)
	SkillSuites      = list("Skill.suites", func(s *models.Skill) *ids.ID { return &s.ID }, store.Org.SuitesOfSkills)
	SourceRuns       = list("CloudSource.runs", func(s *models.CloudSource) *ids.ID { return &s.ID }, store.Org.RunsOfSources)
	ReportSource     = one("ValidationReport.source", func(r *models.ValidationReport) *ids.ID { return &r.SourceID }, store.Org.SourcesByID)
	SuiteReviews     = list("EvalSuite.reviews", func(s *models.EvalSuite) *ids.ID { return &s.ID }, store.Org.ReviewsOfSuites)
	SuiteSkill       = one("EvalSuite.skill", func(s *models.EvalSuite) *ids.ID { return s.SourceID }, store.Org.SkillsOfSources)
	RevisionRuns     = list("SuiteRevision.runs", func(r *models.SuiteRevision) *ids.ID { return &r.ID }, store.Org.RunsOfRevisions)
	RunSuggestions   = list("EvalRun.suggestions", func(r *models.EvalRun) *ids.ID { return &r.ID }, store.Org.SuggestionsOfRuns)
	RunVersion       = one("EvalRun.version", func(r *models.EvalRun) *ids.ID { return r.VersionID }, store.Org.VersionsByID)
	ResultSuggestion = one("EvalResult.suggestion", func(r *models.EvalResult) *ids.ID { return &r.ID }, store.Org.SuggestionsOfResults)
	SuggestionSkill  = one("EvalSuggestion.skill", func(s *models.EvalSuggestion) *ids.ID { return &s.SourceID }, store.Org.SkillsOfSources)
	EntryIncidents   = list("RegistryEntry.incidents", ownSkill, store.Org.IncidentsOfSkills)
	EntryRuns        = list("RegistryEntry.runs", func(e *models.RegistryEntry) *ids.ID { return &e.ID }, store.Org.RunsOfEntries)
	VersionAttempt   = one("RegistryVersion.publishAttempt", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.AttemptsOfVersions)
	VersionDevices   = page("RegistryVersion.installations", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.InstallationsOfVersions)
	VersionPrevious  = one("RegistryVersion.previous", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.PreviousVersions)
	VersionProposals = list("RegistryVersion.proposals", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.ProposalsOfVersions)
	VersionRuns      = list("RegistryVersion.runs", func(v *models.RegistryVersion) *ids.ID { return &v.ID }, store.Org.RunsOfVersions)
	ReleaseEntry     = one("Release.entry", func(r *models.Release) *ids.ID { return &r.EntryID }, store.Org.EntriesByID)
	BoundLinks       = page("RepoInstallation.repoLinks", func(i *models.RepoInstallation) *ids.ID { return &i.ID }, store.Org.RepoLinksOfInstallations)
	BoundSources     = list("RepoInstallation.sources", func(i *models.RepoInstallation) *ids.ID { return &i.ID }, store.Org.SourcesOfInstallations)
	IncidentNotices  = page("Incident.notifications", func(i *models.Incident) *ids.ID { return &i.ID }, store.Org.NotificationsOfIncidents)
	NoticeAlert      = one("Notification.alert", func(n *models.Notification) *ids.ID { return &n.AlertID }, store.Org.AlertsByID)
	BundleSkill      = one("CommunityBundle.skill", func(b *models.CommunityBundle) *ids.ID { return &b.ID }, store.Org.SkillsOfBundles)
	SummarySkill     = one("CommunitySummary.skill", func(c *models.CommunitySummary) *ids.ID { return c.SkillID }, store.Org.SkillsByID)
	AggregateSkill   = one("SignalAggregate.skill", func(a *models.SignalAggregate) *ids.ID { return a.SkillID }, store.Org.SkillsByID)
	SignalledSkill   = one("SignalSkill.skill", func(s *models.SignalSkill) *ids.ID { return s.SkillID }, store.Org.SkillsByID)
	DetailSkill      = one("SignalDetail.skill", func(d *models.SignalDetail) *ids.ID { return d.SkillID }, store.Org.SkillsByID)
	ProposalVersion  = one("Proposal.version", func(p *models.Proposal) *ids.ID { return p.VersionID }, store.Org.VersionsByID)

	UserAlerts    = list("User.alerts", func(u *models.User) *ids.ID { return &u.ID }, store.Org.AlertsBy)
	UserAPIKeys   = page("User.apiKeys", func(u *models.User) *ids.ID { return &u.ID }, store.Org.KeysBy)
	UserDecisions = list("User.decidedProposals", func(u *models.User) *ids.ID { return &u.ID }, store.Org.ProposalsDecidedBy)
	UserDevices   = page("User.installations", func(u *models.User) *ids.ID { return &u.ID }, store.Org.InstallationsBy)
	UserEntries   = list("User.entries", func(u *models.User) *ids.ID { return &u.ID }, store.Org.EntriesBy)
	UserEvents    = list("User.events", func(u *models.User) *ids.ID { return &u.ID }, store.Org.EventsBy)
	UserLinks     = page("User.repoLinks", func(u *models.User) *ids.ID { return &u.ID }, store.Org.RepoLinksBy)
	UserReviews   = list("User.reviews", func(u *models.User) *ids.ID { return &u.ID }, store.Org.ReviewsBy)
	UserRuns      = list("User.runs", func(u *models.User) *ids.ID { return &u.ID }, store.Org.RunsBy)
	UserSources   = list("User.sources", func(u *models.User) *ids.ID { return &u.ID }, store.Org.SourcesBy)
	UserSuites    = list("User.suites", func(u *models.User) *ids.ID { return &u.ID }, store.Org.SuitesBy)
	UserVersions  = page("User.pushedVersions", func(u *models.User) *ids.ID { return &u.ID }, store.Org.VersionsBy)

	OrgAlerts        = list("Organization.alerts", orgID, whole(store.Org.Alerts))
	OrgCounts        = one("Organization.counts", orgID, store.Org.CountsOf)
	OrgEntries       = list("Organization.entries", orgID, wholeBy(store.Org.Entries))
	OrgEvents        = list("Organization.events", orgID, whole(store.Org.Events))
	OrgIncidents     = list("Organization.incidents", orgID, whole(store.Org.Incidents))
	OrgInstallations = page("Organization.repoInstallations", orgID, wholePage(store.Org.RepoInstallations))
	OrgLinks         = page("Organization.repoLinks", orgID, wholePage(store.Org.RepoLinks))
	OrgProposals     = list("Organization.proposals", orgID, whole(store.Org.Proposals))
	OrgRuns          = list("Organization.runs", orgID, whole(store.Org.Runs))
	OrgSkills        = list("Organization.skills", orgID, wholeBy(store.Org.Skills))
	OrgSources       = list("Organization.sources", orgID, whole(store.Org.Sources))
	OrgSuites        = list("Organization.suites", orgID, wholeBy(store.Org.Suites))
	CountDevices     = one("OrganizationCounts.installations", func(c *models.OrganizationCounts) *ids.ID { return &c.OrgID }, store.Org.DeviceCounts)
	CountPending     = one("OrganizationCounts.pendingSuggestions", func(c *models.OrganizationCounts) *ids.ID { return &c.OrgID }, store.Org.PendingSuggestionCounts)
	CountVersions    = one("OrganizationCounts.versions", func(c *models.OrganizationCounts) *ids.ID { return &c.OrgID }, store.Org.VersionCounts)

	HitNode = one("SearchHit.node", func(h *models.SearchHit) *ids.ID { return &h.ObjectID }, nodes)
)

// ownSkill is the skill of an entry; those of other organizations are not found.
func ownSkill(e *models.RegistryEntry) *ids.ID { return &e.SkillID }

func orgID(o *models.Organization) *ids.ID { return &o.ID }

// whole makes an edge of a list of the organization itself, the only one that a caller can be at.
func whole[C, F any](load func(store.Org, context.Context, F, models.Window) (*models.Connection[C], error)) Batch[*models.Connection[C], models.List[F, models.NoOrder]] {
	return func(o store.Org, ctx context.Context, _ []ids.ID, in models.List[F, models.NoOrder]) (map[ids.ID]*models.Connection[C], error) {
		found, err := load(o, ctx, in.Filter(), in.Window)
		return map[ids.ID]*models.Connection[C]{o.ID(): found}, err
	}
}

// wholeBy is whole for a list that has several orders.
func wholeBy[C, F any, O ~string](load func(store.Org, context.Context, F, O, models.Window) (*models.Connection[C], error)) Batch[*models.Connection[C], models.List[F, O]] {
	return func(o store.Org, ctx context.Context, _ []ids.ID, in models.List[F, O]) (map[ids.ID]*models.Connection[C], error) {
		found, err := load(o, ctx, in.Filter(), in.Order, in.Window)
		return map[ids.ID]*models.Connection[C]{o.ID(): found}, err
	}
}

// wholePage is whole for a list that takes no filter.
func wholePage[C any](load func(store.Org, context.Context, models.Window) (*models.Connection[C], error)) Batch[*models.Connection[C], models.Window] {
	return func(o store.Org, ctx context.Context, _ []ids.ID, w models.Window) (map[ids.ID]*models.Connection[C], error) {
		found, err := load(o, ctx, w)
		return map[ids.ID]*models.Connection[C]{o.ID(): found}, err
	}
}

// kinds says which batch finds the objects of a kind.
var kinds = map[ids.Kind]func(store.Org, context.Context, []ids.ID) (map[ids.ID]models.Node, error){
	ids.Alert:         asNodes(store.Org.AlertsByID),
	ids.Incident:      asNodes(store.Org.IncidentsByID),
	ids.Notification:  asNodes(store.Org.NotificationsByID),
	ids.Entry:         asNodes(store.Org.EntriesByID),
	ids.Version:       asNodes(store.Org.VersionsByID),
	ids.Release:       asNodes(store.Org.ReleasesByID),
	ids.Installation:  asNodes(store.Org.InstallationsByID),
	ids.RepoLink:      asNodes(store.Org.RepoLinksByID),
	ids.Attempt:       asNodes(store.Org.PublishAttemptsByID),
	ids.Delivery:      asNodes(store.Org.RepoDeliveriesByID),
	ids.Event:         asNodes(store.Org.EventsByID),
	ids.Organization:  asNodes(store.Org.OrganizationsByID),
	ids.Skill:         asNodes(store.Org.SkillsByID),
	ids.Suite:         asNodes(store.Org.SuitesByID),
	ids.SuiteRevision: asNodes(store.Org.RevisionsByID),
	ids.User:          asNodes(store.Org.UsersByID),
	ids.Bundle:        asNodes(store.Org.BundlesByID),
	ids.Proposal:      asNodes(store.Org.ProposalsByID),

	ids.Snapshot:   asNodes(store.Org.SnapshotsByID),
	ids.Source:     sourceNodes,
	ids.Validation: asNodes(store.Org.ReportsByID),

	ids.Suggestion: asNodes(store.Org.SuggestionsByID),
	ids.Review:     asNodes(store.Org.ReviewsByID),
	ids.Run:        asNodes(store.Org.RunsByID),
	ids.RunResult:  asNodes(store.Org.ResultsByID),
}

// skillByKey finds a skill of the organization.
func skillByKey(o store.Org, ctx context.Context, orgs []ids.ID, key models.SkillKey) (map[ids.ID]*models.Skill, error) { //nolint:revive // as the batches of the store
	s, err := o.Skill(ctx, key)
	return map[ids.ID]*models.Skill{orgs[0]: s}, err
}

// sourceNodes shows sources as what they are.
func sourceNodes(o store.Org, ctx context.Context, keys []ids.ID) (map[ids.ID]models.Node, error) { //nolint:revive // as the batches of the store
	found, err := o.SourcesByID(ctx, keys)
	out := make(map[ids.ID]models.Node, len(found))
	for id, s := range found {
		out[id] = s.Typed()
	}
	return out, err
}

// nodes finds objects of any kind: one statement for each kind among the ids.
func nodes(o store.Org, ctx context.Context, keys []ids.ID) (map[ids.ID]models.Node, error) { //nolint:revive // as the batches of the store
	groups := map[ids.Kind][]ids.ID{}
	for _, k := range keys {
		groups[k.Kind()] = append(groups[k.Kind()], k)
	}
	out := make(map[ids.ID]models.Node, len(keys))
	for kind, group := range groups {
		find, ok := kinds[kind]
		if !ok {
			continue
		}
		found, err := find(o, ctx, group)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, found)
	}
	return out, nil
}

func asNodes[C models.Node](load func(store.Org, context.Context, []ids.ID) (map[ids.ID]C, error)) func(store.Org, context.Context, []ids.ID) (map[ids.ID]models.Node, error) {
	return func(o store.Org, ctx context.Context, keys []ids.ID) (map[ids.ID]models.Node, error) {
		found, err := load(o, ctx, keys)
		out := make(map[ids.ID]models.Node, len(found))
		for id, n := range found {
			out[id] = n
		}
		return out, err
	}
}
