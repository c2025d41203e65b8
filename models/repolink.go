package models

import (
	"path"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// RepoLink is a connection: a repository that publishes to an entry.
type RepoLink struct {
	bun.BaseModel `bun:"table:repo_links,alias:t"`

	OrganizationID     ids.ID    `bun:"org_id,pk"`
	ID                 ids.ID    `bun:"id,pk"`
	EntryID            ids.ID    `bun:"entry_id"`
	RepoInstallationID ids.ID    `bun:"repo_installation_id"`
	RepoID             int64     `bun:"repo_id"`
	RepoFullName       string    `bun:"repo_full_name"`
	DefaultBranch      string    `bun:"default_branch"`
	SkillPath          string    `bun:"skill_path"`
	AutoPublish        bool      `bun:"auto_publish"`
	WriteBackEnabled   bool      `bun:"write_back_enabled"`
	TagPattern         string    `bun:"tag_pattern"`
	CreatedByID        *ids.ID   `bun:"created_by"`
	CreatedAt          time.Time `bun:"created_at"`
	UpdatedAt          time.Time `bun:"updated_at"`
}

// RepoOwner is whose repository it is.
func (l *RepoLink) RepoOwner() string {
	owner, _, _ := strings.Cut(l.RepoFullName, "/")
	return owner
}

// RepoName is the repository's name.
func (l *RepoLink) RepoName() string {
	_, name, _ := strings.Cut(l.RepoFullName, "/")
	return name
}

// StatusContext is under which name statuses are posted.
func (l *RepoLink) StatusContext() string { return "skillgraph/publish/" + l.ID.String()[:8] }

// PublishAttempt is an attempt to publish from a repository.
type PublishAttempt struct {
	bun.BaseModel `bun:"table:publish_attempts,alias:t"`

	OrgID            ids.ID          `bun:"org_id,pk"`
	ID               ids.ID          `bun:"id,pk"`
	Number           int             `bun:"number,autoincrement"`
	LinkID           ids.ID          `bun:"link_id"`
	Trigger          AttemptTrigger  `bun:"trigger"`
	Status           AttemptStatus   `bun:"status"`
	VersionName      *string         `bun:"version_name"`
	VersionID        *ids.ID         `bun:"version_id"`
	SourceRef        string          `bun:"source_ref"`
	Commit           *string         `bun:"commit"`
	Message          string          `bun:"message"`
	WriteBackStatus  WriteBackStatus `bun:"write_back_status"`
	WriteBackMessage *string         `bun:"write_back_message"`
	CheckRunID       *string         `bun:"check_run_id"`
	CreatedAt        time.Time       `bun:"created_at"`
}

// RepoDelivery is something that the code host has told.
type RepoDelivery struct {
	OrgID        *ids.ID       `bun:"org_id"`
	ID           ids.ID        `bun:"id"`
	Number       int           `bun:"number"`
	DeliveryKey  string        `bun:"delivery_key"`
	Event        string        `bun:"event"`
	Action       *string       `bun:"action"`
	RepoFullName *string       `bun:"repo_full_name"`
	Ref          *string       `bun:"ref"`
	State        DeliveryState `bun:"state"`
	Outcome      *string       `bun:"outcome"`
	ReceivedAt   time.Time     `bun:"received_at"`
}

// Received is a delivery as it came in.
type Received struct {
	Key            string // the code host's id of it
	Queue          string
	Event, Action  string
	InstallationID int64
	RepoFullName   string
	Ref            string
	Payload        any // what was read of it
}

const (
	defaultTagPattern = "v*"
	maxRefName        = 250
)

// Link makes the connection that the input describes.
func (in ConnectRepositoryInput) Link() (*RepoLink, error) {
	l := &RepoLink{
		EntryID: in.EntryID, RepoFullName: in.RepoFullName, DefaultBranch: or(in.DefaultBranch.Value(), defaultBranch), SkillPath: or(in.SkillPath.Value(), rootPath),
		AutoPublish: or(in.AutoPublish.Value(), true), WriteBackEnabled: or(in.WriteBackEnabled.Value(), false), TagPattern: or(in.TagPattern.Value(), defaultTagPattern),
	}
	return l, l.Validate()
}

// Validate is the rule for a connection.
func (l *RepoLink) Validate() error {
	if !repoName.MatchString(l.RepoFullName) {
		return errs.At("repoFullName").Because("must be a repository's full name, such as owner/repo")
	}
	if err := checkText(errs.At("defaultBranch"), l.DefaultBranch, 1, maxRefName); err != nil {
		return err
	}
	if l.SkillPath != rootPath && !IsLocalPath(strings.TrimSuffix(l.SkillPath, "/")) {
		return errs.At("skillPath").Because("must be a folder inside the repository, such as skills/pdf; . is its root")
	}
	if err := checkText(errs.At("tagPattern"), l.TagPattern, 1, maxRefName); err != nil {
		return err
	}
	if _, err := path.Match(l.TagPattern, ""); err != nil {
		return errs.At("tagPattern").Because("is no pattern: * stands for any text, ? for one character, [a-z] for one of several")
	}
	return nil
}

// Apply changes the connection and reports whether that changed anything.
func (in UpdateConnectionInput) Apply(l *RepoLink) (changed bool, err error) {
	former := *l
	for _, err := range []error{
		setOnly(errs.At("writeBackEnabled"), in.WriteBackEnabled, &l.WriteBackEnabled),
		setOnly(errs.At("defaultBranch"), in.DefaultBranch, &l.DefaultBranch),
		setOnly(errs.At("skillPath"), in.SkillPath, &l.SkillPath),
		setOnly(errs.At("autoPublish"), in.AutoPublish, &l.AutoPublish),
		setOnly(errs.At("tagPattern"), in.TagPattern, &l.TagPattern),
	} {
		if err != nil {
			return false, err
		}
	}
	return *l != former, l.Validate()
}

// MatchesTag reports whether a tag publishes. A * in the pattern stands for slashes, too.
func (l *RepoLink) MatchesTag(tag string) bool {
	// path.Match stops at slashes, which tags may have and people do not think of.
	const slash = "\x00"
	ok, _ := path.Match(strings.ReplaceAll(l.TagPattern, "/", slash), strings.ReplaceAll(tag, "/", slash))
	return ok
}

// Ref is a branch or tag at a commit.
type Ref struct {
	Tag    string // empty: the head of the branch
	Commit string
}

// Version is what the ref is published as.
func (r Ref) Version() string {
	if r.Tag != "" {
		return TagVersion(r.Tag)
	}
	return BranchVersion(r.Commit)
}

// Source is what a version or an attempt says it came from.
func (r Ref) Source() string {
	if r.Tag != "" {
		return r.Tag
	}
	return r.Commit
}

// Follows says what of a pushed ref the connection publishes or, where it publishes nothing, why.
func (l *RepoLink) Follows(ref string, deleted bool) (tag string, why string) {
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	tag, isTag := strings.CutPrefix(ref, "refs/tags/")
	switch {
	case !isBranch && !isTag:
		return "", ref + " is neither branch nor tag"
	case deleted:
		return "", ref + " was deleted: its versions stay"
	case isBranch && branch != l.DefaultBranch:
		return "", "the connection follows the branch " + l.DefaultBranch
	case isBranch:
		return "", ""
	case !l.AutoPublish:
		return "", "the connection does not publish tags"
	case !l.MatchesTag(tag):
		return "", "the tag does not match " + l.TagPattern
	}
	return tag, ""
}
