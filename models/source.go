package models

import (
	"regexp"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// CloudSource is a hosted folder with a skill, as it is stored. The graph shows it as the type it is of: see Typed.
type CloudSource struct {
	bun.BaseModel `bun:"table:cloud_sources,alias:t"`

	OrgID         ids.ID     `bun:"org_id,pk"`
	ID            ids.ID     `bun:"id,pk"`
	Label         string     `bun:"label"`
	SourceType    SourceType `bun:"source_type"`
	SkillID       *ids.ID    `bun:"skill_id"`
	BoundID       *ids.ID    `bun:"repo_installation_id"`
	RepoFullName  string     `bun:"repo_full_name"`
	DefaultBranch string     `bun:"default_branch"`
	SkillPath     string     `bun:"skill_path"`
	CreatedByID   *ids.ID    `bun:"created_by"`
	CreatedAt     time.Time  `bun:"created_at"`
}

// The types that a cloud source is shown as.
type (
	// TypedSource is either of them: the interface CloudSource of the schema.
	TypedSource interface {
		Node
		IsCloudSource()
		Row() *CloudSource
	}
	// UploadSource is a source whose folder is uploaded.
	UploadSource CloudSource
	// RepohostSource is a source whose folder is read from a repository.
	RepohostSource CloudSource
)

// Typed shows a source as what it is.
func (s *CloudSource) Typed() TypedSource {
	switch {
	case s == nil:
		return nil
	case s.SourceType == SourceTypeRepohost:
		return (*RepohostSource)(s)
	}
	return (*UploadSource)(s)
}

// IsCloudSource marks the types.
func (*UploadSource) IsCloudSource() {}

// IsCloudSource marks the types.
func (*RepohostSource) IsCloudSource() {}

// Row is the source as it is stored.
func (s *UploadSource) Row() *CloudSource { return (*CloudSource)(s) }

// Row is the source as it is stored.
func (s *RepohostSource) Row() *CloudSource { return (*CloudSource)(s) }

// ShownID is the id with its prefix.
func (s *UploadSource) ShownID() ids.SourceID { return ids.SourceID(s.ID) }

// ShownID is the id with its prefix.
func (s *RepohostSource) ShownID() ids.SourceID { return ids.SourceID(s.ID) }

// CloudSourceConnection is a page of sources, each shown as what it is.
type CloudSourceConnection struct{ *Connection[CloudSource] }

// CloudSourceEdge is a source in a page.
type CloudSourceEdge struct {
	Cursor string
	Node   TypedSource
}

// Nodes are the sources.
func (c CloudSourceConnection) Nodes() []TypedSource {
	out := make([]TypedSource, len(c.Connection.Nodes))
	for i, s := range c.Connection.Nodes {
		out[i] = s.Typed()
	}
	return out
}

// Edges are the sources with their cursors.
func (c CloudSourceConnection) Edges() []*CloudSourceEdge {
	out := make([]*CloudSourceEdge, len(c.Connection.Nodes))
	for i, e := range c.Connection.Edges() {
		out[i] = &CloudSourceEdge{Cursor: e.Cursor, Node: e.Node.Typed()}
	}
	return out
}

// DeleteSourcePayload names the source that is gone.
type DeleteSourcePayload struct{ DeletedID ids.SourceID }

const (
	defaultBranch = "main"
	rootPath      = "."
)

// repoName is owner/repo; neither part may be a step in a path.
var repoName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)

// Source makes the source that the input describes, but for its installation.
func (in CreateSourceInput) Source() (*CloudSource, error) {
	s := &CloudSource{Label: in.Label, SourceType: in.Type, SkillID: in.SkillID.Value()}
	if err := checkLabel(s.Label); err != nil {
		return nil, err
	}
	if in.Type == SourceTypeUpload {
		return s, in.noRepository()
	}
	s.RepoFullName, s.DefaultBranch, s.SkillPath = or(in.RepoFullName.Value(), ""), or(in.DefaultBranch.Value(), defaultBranch), or(in.SkillPath.Value(), rootPath)
	switch {
	case in.InstallationID.Value() == nil:
		return nil, errs.At("installationId").Because("is required for a repohost source")
	case in.RepoFullName.Value() == nil:
		return nil, errs.At("repoFullName").Because("is required for a repohost source")
	case !repoName.MatchString(s.RepoFullName):
		return nil, errs.At("repoFullName").Because("must be owner/repo")
	case s.SkillPath != rootPath && !IsLocalPath(s.SkillPath):
		return nil, errs.At("skillPath").Because("must be a relative path inside the repository")
	}
	return s, checkText(errs.At("defaultBranch"), s.DefaultBranch, 1, 200)
}

// noRepository refuses what an upload source has no use for.
func (in CreateSourceInput) noRepository() error {
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"installationId", in.InstallationID.Value() != nil},
		{"repoFullName", in.RepoFullName.Value() != nil},
		{"defaultBranch", in.DefaultBranch.Value() != nil},
		{"skillPath", in.SkillPath.Value() != nil},
	} {
		if field.given {
			return errs.At(field.name).Because("is for repohost sources only")
		}
	}
	return nil
}

func checkLabel(label string) error { return checkText(errs.At("label"), label, 1, 200) }

// Apply makes the change, or names the field that may not change so.
func (in UpdateSourceInput) Apply(s *CloudSource) error {
	if skill, set := in.SkillID.ValueOK(); set {
		if skill == nil {
			return errs.At("skillId").Because("must not be null")
		}
		s.SkillID = skill
	}
	if err := setOnly(errs.At("label"), in.Label, &s.Label); err != nil {
		return err
	}
	return checkLabel(s.Label)
}

// Validate is the rule for an upload, but for its content.
func (in UploadSourceInput) Validate() error {
	archive, files, label := in.File.Value(), in.Files.Value(), in.Label.Value()
	switch {
	case archive != nil && len(files) > 0:
		return errs.At("file").Because("send either an archive in file or individual files, not both")
	case archive == nil && len(files) == 0:
		return errs.At("file").Because("is required: send a zip archive in file, or files in parts that are named after their paths")
	case label == nil && in.SourceID.Value() == nil:
		return errs.At("label").Because("is required for a new source")
	case label == nil:
		return nil
	}
	return checkLabel(*label)
}

// Source makes the source that the input describes, where it is a new one.
func (in UploadSourceInput) Source() *CloudSource {
	return &CloudSource{Label: or(in.Label.Value(), ""), SourceType: SourceTypeUpload, SkillID: in.SkillID.Value()}
}

// Validate bounds the filter.
func (f SourceFilter) Validate() error {
	if label := f.LabelContains.Value(); label != nil {
		return checkText(errs.At("filter", "labelContains"), *label, 1, 200)
	}
	return nil
}

// or is what a pointer points at, or a default.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
