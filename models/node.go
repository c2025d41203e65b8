// Package models holds the rows of the database, which are the objects of the graph, and the rules they keep.
package models

// Node is anything that node(id:) finds.
type Node interface{ IsNode() }

// IsNode marks the types.
func (*EvalSuite) IsNode()        {}
func (*Event) IsNode()            {}
func (*Organization) IsNode()     {}
func (*SuiteRevision) IsNode()    {}
func (*User) IsNode()             {}
func (*Skill) IsNode()            {}
func (*Alert) IsNode()            {}
func (*Incident) IsNode()         {}
func (*Notification) IsNode()     {}
func (*CommunityBundle) IsNode()  {}
func (*Proposal) IsNode()         {}
func (*UploadSource) IsNode()     {}
func (*RepohostSource) IsNode()   {}
func (*Snapshot) IsNode()         {}
func (*ValidationReport) IsNode() {}
func (*EvalSuggestion) IsNode()   {}
func (*SuggestionReview) IsNode() {}
func (*EvalRun) IsNode()          {}
func (*EvalResult) IsNode()       {}
func (*RegistryEntry) IsNode()    {}
func (*RegistryVersion) IsNode()  {}
func (*Release) IsNode()          {}
func (*Installation) IsNode()     {}
func (*RepoLink) IsNode()         {}
func (*PublishAttempt) IsNode()   {}
func (*RepoDelivery) IsNode()     {}
