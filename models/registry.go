package models

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// RegistryEntry is something published. The organization's name comes with it, since others may see it.
type RegistryEntry struct {
	bun.BaseModel `bun:"table:registry_entries,alias:t"`

	OrgID            ids.ID     `bun:"org_id,pk"`
	ID               ids.ID     `bun:"id,pk"`
	SkillID          ids.ID     `bun:"skill_id"`
	Name             string     `bun:"name"`
	EntryType        EntryType  `bun:"entry_type"`
	Description      string     `bun:"description"`
	Visibility       Visibility `bun:"visibility"`
	SourceRepo       *string    `bun:"source_repo"`
	CurrentVersionID *ids.ID    `bun:"current_version_id"`
	CreatedByID      *ids.ID    `bun:"created_by"`
	CreatedAt        time.Time  `bun:"created_at"`
	UpdatedAt        time.Time  `bun:"updated_at"`
}

// RegistryVersion is a version of an entry. Its list of files, which may be long, is read only where somebody asks for it.
type RegistryVersion struct {
	bun.BaseModel `bun:"table:registry_versions,alias:t"`

	OrgID         ids.ID        `bun:"org_id,pk"`
	ID            ids.ID        `bun:"id,pk"`
	EntryID       ids.ID        `bun:"entry_id"`
	Number        int           `bun:"number"`
	Version       string        `bun:"version"`
	Precedence    string        `bun:"precedence"`
	Prerelease    bool          `bun:"prerelease"`
	ContentHash   string        `bun:"content_hash"`
	ClientTag     *string       `bun:"client_tag"`
	SkillHash     *string       `bun:"skill_hash"`
	Size          int           `bun:"size"`
	FileCount     int           `bun:"file_count"`
	ChangeSummary *string       `bun:"change_summary"`
	Source        VersionSource `bun:"source"`
	SourceRef     *string       `bun:"source_ref"`
	SourceRepo    *string       `bun:"source_repo"`
	SourceCommit  *string       `bun:"source_commit"`
	Baseline      *float64      `bun:"baseline"`
	RolledBack    bool          `bun:"rolled_back"`
	RevokedAt     *time.Time    `bun:"revoked_at"`
	RevokeReason  *string       `bun:"revoke_reason"`
	PushedByID    *ids.ID       `bun:"pushed_by"`
	PushedAt      time.Time     `bun:"pushed_at"`
}

// Warnings are what is odd about the archive.
func (v *RegistryVersion) Warnings() []string {
	if v.SkillHash == nil {
		return []string{"There is no SKILL.md at the root of the archive"}
	}
	return []string{}
}

// Release is a change of what is current in an entry.
type Release struct {
	bun.BaseModel `bun:"table:registry_releases,alias:t"`

	OrgID       ids.ID      `bun:"org_id,pk"`
	ID          ids.ID      `bun:"id,pk"`
	EntryID     ids.ID      `bun:"entry_id"`
	Number      int         `bun:"number,autoincrement"`
	Kind        ReleaseKind `bun:"kind"`
	FromID      *ids.ID     `bun:"from_id"`
	ToID        *ids.ID     `bun:"to_id"`
	Reason      *string     `bun:"reason"`
	CreatedByID *ids.ID     `bun:"created_by"`
	CreatedAt   time.Time   `bun:"created_at"`
}

// FileInfo is a file of a version.
type FileInfo struct {
	Path   string `json:"path"`
	SHA256 string `json:"hash"`
	Size   int    `json:"size"`
}

// Archive is what was found in an archive: by its guard, not by its sender's word.
type Archive struct {
	Hash      string // SHA-256 of its bytes, in hex
	Size      int
	Files     []FileInfo
	SkillHash *string // of SKILL.md
}

// NewVersion is a version to be published.
type NewVersion struct {
	Version       string
	ChangeSummary *string
	ContentHash   *string // the client's word
	FileManifest  JSON    // the client's word
	Description   *string // of the entry; nil: it stays
	Name          *string // of the entry, to be checked
	EntryType     *EntryType
	Source        VersionSource
	SourceRef     *string
	SourceRepo    *string
	SourceCommit  *string
}

// Published is what became of a push, a rollback or a revocation.
type Published struct {
	Entry   *RegistryEntry
	Version *RegistryVersion
	Created bool // false: it was there already
}

// EntryEvidence is what telemetry says of the skill of an entry.
type EntryEvidence struct {
	EntryID        ids.ID   `bun:"entry_id"`
	RecentPassRate *float64 `bun:"pass_rate"`
	RecentGraded   int      `bun:"recent_graded"`
	GradedSessions int      `bun:"graded_sessions"`
}

// PassRate is the mean rate of the last graded sessions.
func (e *EntryEvidence) PassRate() *Rate { return NewRate(e.RecentPassRate, e.RecentGraded) }

// VersionQuality is what telemetry says of a version.
type VersionQuality struct {
	VersionID ids.ID `bun:"version_id"`
	Sums      `bun:",inline"`
}

// GradedSessions is how many sessions were graded.
func (q *VersionQuality) GradedSessions() int { return q.Graded }

// PassRate is the mean rate of graded sessions.
func (q *VersionQuality) PassRate() *Rate { return NewRate(q.Sums.PassRate(), q.Graded) }

// TriggerRate is the share of sessions in which it fired.
func (q *VersionQuality) TriggerRate() *Rate { return NewRate(q.Sums.TriggerRate(), q.Sessions) }

// AvgConfidence is the mean score of triggers that carried one.
func (q *VersionQuality) AvgConfidence() *Rate { return NewRate(q.Sums.AvgConfidence(), q.Scored) }

// VersionList is which versions of an entry to list. It is comparable.
type VersionList struct {
	Window
	OrderBy VersionOrder
}

// Download is what a signed link leads to.
type Download struct {
	Name        string `bun:"name"`
	Version     string `bun:"version"`
	ContentHash string `bun:"content_hash"`
}

// How much of everything there may be; texts in characters.
const (
	maxDescription = 4000
	maxSummary     = 10_000
	maxReason      = 2000
	maxTag         = 200
	hashPrefix     = "sha256:"
)

var (
	entryName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	versionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}$`)
	sha256Hex   = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
)

// Entry is the entry that a client asks for, with its first version. Form fields win over the metadata.
func (in CreateEntryMetadata) Entry(visibility *Visibility, sourceRepo *string) (*RegistryEntry, NewVersion, error) {
	e := &RegistryEntry{Name: in.Name, EntryType: EntryTypeSkill, Visibility: VisibilityOrg, SourceRepo: in.SourceRepo.Value()}
	for _, given := range []*Visibility{in.Visibility.Value(), visibility} {
		if given != nil {
			e.Visibility = *given
		}
	}
	if sourceRepo != nil {
		e.SourceRepo = sourceRepo
	}
	if t := in.EntryType.Value(); t != nil {
		e.EntryType = *t
	}
	if d := in.Description.Value(); d != nil {
		e.Description = *d
	}
	v := NewVersion{
		Version: in.Version, ChangeSummary: in.ChangeSummary.Value(), ContentHash: in.ContentHash.Value(), FileManifest: in.FileManifest.Value(),
		Source: VersionSourceCli, SourceRepo: e.SourceRepo,
	}
	if err := e.Validate(); err != nil {
		return nil, v, err
	}
	return e, v, v.Validate()
}

// NewVersion is the version that a client asks for.
func (in PushVersionMetadata) NewVersion() (NewVersion, error) {
	v := NewVersion{
		Version: in.Version, ChangeSummary: in.ChangeSummary.Value(), ContentHash: in.ContentHash.Value(), FileManifest: in.FileManifest.Value(),
		Description: in.Description.Value(), Name: in.Name.Value(), EntryType: in.EntryType.Value(), Source: VersionSourceCli,
	}
	return v, v.Validate()
}

// Validate is the rule for an entry.
func (e *RegistryEntry) Validate() error {
	if !entryName.MatchString(e.Name) {
		return errs.At("name").Because("must be 1 to 128 letters, digits, dots, underscores and hyphens, beginning with a letter or digit")
	}
	if err := CheckRepo(e.SourceRepo); err != nil {
		return err
	}
	return checkProse(errs.At("description"), e.Description, maxDescription)
}

// CheckRepo is the rule for the name of a repository.
func CheckRepo(name *string) error {
	if name != nil && !repoName.MatchString(*name) {
		return errs.At("sourceRepo").Because("must be a repository's full name, such as owner/repo")
	}
	return nil
}

// Validate is the rule for what a client says of a version.
func (v NewVersion) Validate() error {
	if !versionName.MatchString(v.Version) {
		return errs.At("version").Because("must be 1 to 128 letters, digits, dots, plus signs, underscores and hyphens, beginning with a letter or digit")
	}
	if v.ContentHash != nil {
		if err := checkText(errs.At("contentHash"), *v.ContentHash, 0, maxTag); err != nil {
			return err
		}
	}
	if v.Description != nil {
		if err := checkProse(errs.At("description"), *v.Description, maxDescription); err != nil {
			return err
		}
	}
	if v.ChangeSummary == nil {
		return nil
	}
	return checkProse(errs.At("changeSummary"), *v.ChangeSummary, maxSummary)
}

// FitsEntry refuses a version that was meant for another entry.
func (v NewVersion) FitsEntry(e *RegistryEntry) error {
	if v.Name != nil && *v.Name != e.Name {
		return errs.At("metadata", "name").Because("the entry is called %s", e.Name)
	}
	if v.EntryType != nil && *v.EntryType != e.EntryType {
		return errs.At("metadata", "entryType").Because("the type of the entry is %s", e.EntryType.Wire())
	}
	return nil
}

// Of is the version as it will be kept, when what the client says of the archive is true.
func (v NewVersion) Of(a Archive) (*RegistryVersion, error) {
	out := &RegistryVersion{
		Version: v.Version, Precedence: precedence(v.Version), Prerelease: isPrerelease(v.Version), ContentHash: a.Hash, SkillHash: a.SkillHash,
		Size: a.Size, FileCount: len(a.Files), ChangeSummary: v.ChangeSummary, Source: v.Source, SourceRef: v.SourceRef, SourceRepo: v.SourceRepo, SourceCommit: v.SourceCommit,
	}
	if v.ContentHash != nil {
		switch said := strings.TrimPrefix(*v.ContentHash, hashPrefix); {
		case !sha256Hex.MatchString(said):
			if said != "" && said != nothingYet {
				out.ClientTag = v.ContentHash
			}
		case !strings.EqualFold(said, a.Hash):
			return nil, errs.At("metadata", "contentHash").Because("the archive's SHA-256 is %s: it was changed or cut off on the way", a.Hash)
		}
	}
	return out, v.agrees(a)
}

// agrees compares the client's list of files with the archive. A list of any other form says nothing.
func (v NewVersion) agrees(a Archive) error {
	type line struct {
		Path *string `json:"path"`
		Hash *string `json:"hash"`
		Size *int    `json:"size"`
	}
	var said []line
	if json.Unmarshal(v.FileManifest, &said) != nil || len(said) == 0 || slices.ContainsFunc(said, func(f line) bool { return f.Path == nil || f.Hash == nil || f.Size == nil }) {
		return nil
	}
	at := errs.At("metadata", "fileManifest")
	found := make(map[string]FileInfo, len(a.Files))
	for _, f := range a.Files {
		found[f.Path] = f
	}
	for i, f := range said {
		path := strings.TrimPrefix(*f.Path, "./")
		is, ok := found[path]
		switch {
		case !ok:
			return at.At(i, "path").Because("there is no file %q in the archive, or it is listed twice", path)
		case !strings.EqualFold(strings.TrimPrefix(*f.Hash, hashPrefix), is.SHA256):
			return at.At(i, "hash").Because("the SHA-256 of %q is %s", path, is.SHA256)
		case *f.Size != is.Size:
			return at.At(i, "size").Because("%q has %d bytes", path, is.Size)
		}
		delete(found, path)
	}
	for _, f := range a.Files {
		if _, left := found[f.Path]; left {
			return at.Because("%q is in the archive and not in the list", f.Path)
		}
	}
	return nil
}

// Hashes are what telemetry may call the version.
func (v *RegistryVersion) Hashes() []string {
	out := []string{v.ContentHash, hashPrefix + v.ContentHash}
	if v.SkillHash != nil {
		out = append(out, *v.SkillHash, hashPrefix+*v.SkillHash)
	}
	if v.ClientTag != nil && !slices.Contains(out, *v.ClientTag) {
		out = append(out, *v.ClientTag)
	}
	return out
}

// NormalHash is a content hash as devices report it, in the form in which we keep it.
func NormalHash(s string) string {
	if bare := strings.TrimPrefix(s, hashPrefix); sha256Hex.MatchString(bare) {
		return strings.ToLower(bare)
	}
	return s
}

// Apply changes the entry, and reports whether that changed anything.
func (in UpdateEntryInput) Apply(e *RegistryEntry) (changed bool, err error) {
	former := *e
	if err := setOnly(errs.At("description"), in.Description, &e.Description); err != nil {
		return false, err
	}
	if err := setOnly(errs.At("visibility"), in.Visibility, &e.Visibility); err != nil {
		return false, err
	}
	if repo, set := in.SourceRepo.ValueOK(); set {
		e.SourceRepo = repo
	}
	same := former.Description == e.Description && former.Visibility == e.Visibility && sameText(former.SourceRepo, e.SourceRepo)
	return !same, e.Validate()
}

func sameText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// CheckReason bounds the reason that somebody gives.
func CheckReason(reason *string) error {
	if reason == nil {
		return nil
	}
	return checkProse(errs.At("reason"), *reason, maxReason)
}

// CheckWords bounds what somebody looks for.
func CheckWords(words *string) error {
	if words == nil {
		return nil
	}
	return checkText(errs.At("query"), *words, 0, 200)
}

// Validate bounds the filter.
func (f EntryFilter) Validate() error {
	if name := f.Name.Value(); name != nil {
		if err := checkText(errs.At("filter", "name"), *name, 0, 200); err != nil {
			return err
		}
	}
	if name := f.NameContains.Value(); name != nil {
		return checkText(errs.At("filter", "nameContains"), *name, 1, 200)
	}
	return nil
}
