package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/internal/archive"
	"skillgraph/internal/blob"
	"skillgraph/internal/ids"
	"skillgraph/internal/registry"
	"skillgraph/models"
)

// Clock is the demo's own: what happened in the past is recorded at its time. The store must have been opened with it.
type Clock struct{ now, at time.Time }

// NewClock stands still at the present.
func NewClock(now time.Time) *Clock { return &Clock{now: now, at: now} }

// Now is when the demo is.
func (c *Clock) Now() time.Time { return c.at }

// back goes to the morning of a day, so many days ago.
func (c *Clock) back(days int) {
	c.at = c.now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -days).Add(7 * time.Hour)
}

// step is something that happens to an entry, so many days ago.
type step struct {
	ago     int
	entry   string
	do      deed
	version string // that it is about
	words   string // the summary of a version, or the reason
	files   map[string]string
}

type deed int

const (
	push deed = iota
	rollback
	revoke
	install     // by the first of the people, on the device that words name
	installElse // by the second
	connect     // with a repository
	commit      // to the repository
	tag         // in the repository
)

// looks is how entries are made.
var looks = map[string]models.RegistryEntry{
	"pdf-forms":       {Description: "Fills in, merges and checks PDF forms.", Visibility: models.VisibilityPublic, SourceRepo: new("demo/skills")},
	"docx-edit":       {Description: "Edits Word documents without losing their styles.", Visibility: models.VisibilityUnlisted},
	"sql-review":      {Description: "Reads migrations and queries before they reach production.", Visibility: models.VisibilityOrg, SourceRepo: new("demo/skills")},
	"changelog":       {Description: "Writes changelog lines that users understand.", Visibility: models.VisibilityOrg},
	"unit-conversion": {Description: "Converts units, with the right number of digits.", Visibility: models.VisibilityPublic},
	"csv-clean":       {Description: "Cleans up CSV files, and says what it found.", Visibility: models.VisibilityOrg, SourceRepo: new(forgeRepo)},
	"letter-writer":   {Description: "Writes letters and e-mails in the house style.", Visibility: models.VisibilityPublic},
}

// demoSteps are the registry of the first organization: a version that broke a skill, one that was rolled back, one that was
// revoked, a prerelease, and devices of which some are behind.
var demoSteps = []step{
	{ago: 90, entry: "sql-review", version: "1.4.0", words: "Knows about partial indexes", files: body("Look for scans of whole tables.", "Ask for the plan.")},
	{ago: 90, entry: "unit-conversion", version: "0.9.0", words: "Lengths", files: body("Convert lengths.")},
	{ago: 88, entry: "pdf-forms", version: "1.0.0", words: "First release", files: body("Look at the fields first.")},
	{ago: 80, entry: "docx-edit", version: "0.3.0", files: body("Keep the styles.")},
	{ago: 78, entry: "changelog", version: "1.0.0", words: "First release", files: body("Name the effect, not the code.")},
	{ago: 70, entry: "sql-review", do: install, words: "ada-laptop"},
	{ago: 60, entry: "pdf-forms", do: installElse, words: "grace-laptop"},
	{ago: 50, entry: "pdf-forms", version: "1.1.0", words: "Merges documents", files: with(body("Look at the fields first.", "Merge in the order given."), "scripts/merge.py", "import sys\n")},
	{ago: 45, entry: "pdf-forms", do: install, words: "ada-desktop"},
	{ago: 40, entry: "unit-conversion", version: "1.0.0", words: "Weights and volumes", files: body("Convert lengths, weights and volumes.")},
	{ago: 38, entry: "unit-conversion", do: installElse, words: "grace-laptop"},
	{ago: 36, entry: "unit-conversion", version: "1.0.1", words: "Ounces are not fluid ounces", files: body("Convert lengths, weights and volumes.", "Mind the two kinds of ounces.")},
	{ago: 35, entry: "unit-conversion", do: revoke, version: "1.0.0", words: "It took fluid ounces for ounces: do not use it for recipes"},
	{ago: 30, entry: "changelog", version: "1.1.0", words: "Links to issues", files: body("Name the effect, not the code.", "Link to the issue.")},
	{ago: 28, entry: "changelog", do: rollback, words: "It invents issue numbers"},
	{ago: 25, entry: "changelog", do: install, words: "ada-laptop"},
	{ago: 20, entry: "pdf-forms", version: "1.2.0-rc.1", words: "Signs, to be tried", files: body("Look at the fields first.", "Sign where you are told to.")},
	{ago: 17, entry: "sql-review", version: "2.0.0", words: "Rewritten for speed", files: body("Be brief.")},
	{ago: 12, entry: "sql-review", do: installElse, words: "grace-laptop"},
	{ago: 9, entry: "pdf-forms", version: "1.2.0", words: "Signs", files: body("Look at the fields first.", "Sign where you are told to.", "Never sign twice.")},
	{ago: 6, entry: "pdf-forms", do: install, words: "ada-laptop"},
}

// otherSteps are the registry of another organization, with something for everybody.
var otherSteps = []step{
	{ago: 66, entry: "letter-writer", version: "1.0.0", words: "First release", files: body("Write short sentences.")},
	{ago: 33, entry: "letter-writer", version: "1.1.0", words: "E-mails, too", files: body("Write short sentences.", "Put the question first.")},
	{ago: 31, entry: "changelog", version: "0.1.0", files: body("One line for each change.")},
}

// body is a folder with nothing but instructions.
func body(lines ...string) map[string]string {
	return map[string]string{"SKILL.md": strings.Join(lines, "\n") + "\n"}
}

func with(files map[string]string, path, content string) map[string]string {
	files[path] = content
	return files
}

// shelf is the registry of one organization while it is being filled.
type shelf struct {
	door    *registry.Registry
	clock   *Clock
	people  []actor // who push in turn, and have devices
	entries map[string]ids.ID
	hashes  map[string]string // of what is current, by entry: telemetry reports it
	steps   []step
	forge   *forge // where some of them happen
}

func newShelf(blobs *blob.Store, clock *Clock, steps []step, people ...actor) *shelf {
	return &shelf{
		door: &registry.Registry{Blobs: blobs}, clock: clock, people: people, steps: steps,
		entries: map[string]ids.ID{}, hashes: map[string]string{},
	}
}

// day does what happened on a day.
func (s *shelf) day(ctx context.Context, ago int) error {
	for i, st := range s.steps {
		if st.ago != ago {
			continue
		}
		s.clock.back(ago)
		err := s.take(ctx, s.people[i%len(s.people)], st)
		s.clock.at = s.clock.now
		if err != nil {
			return fmt.Errorf("%s, %d days ago: %w", st.entry, ago, err)
		}
	}
	return nil
}

func (s *shelf) take(ctx context.Context, by actor, st step) error {
	id := s.entries[st.entry]
	var out models.Published
	var err error
	switch st.do {
	case push:
		out, err = s.publish(ctx, by, st)
	case rollback:
		out, err = by.Rollback(ctx, id, nil, &st.words)
	case revoke:
		var v map[ids.ID]*models.RegistryVersion
		if v, err = by.VersionNamed(ctx, []ids.ID{id}, st.version); err == nil {
			_, err = by.RevokeVersion(ctx, v[id].ID, &st.words)
		}
		return err
	case install, installElse:
		return s.install(ctx, s.people[st.do-install], id, st.words)
	case connect:
		return s.forge.connect(ctx, by, id, st, s)
	case commit:
		if err := s.forge.commit(ctx, st, s); err != nil {
			return err
		}
		return s.note(ctx, by, st.entry)
	case tag:
		if err := s.forge.tag(ctx, st.version); err != nil {
			return err
		}
		return s.note(ctx, by, st.entry)
	}
	if err == nil && *out.Entry.CurrentVersionID == out.Version.ID {
		s.hashes[st.entry] = out.Version.ContentHash
	}
	return err
}

// note finds out what is current in an entry.
func (s *shelf) note(ctx context.Context, by actor, entry string) error {
	entries, err := by.EntriesByID(ctx, []ids.ID{s.entries[entry]})
	if err != nil {
		return err
	}
	current := *entries[s.entries[entry]].CurrentVersionID
	versions, err := by.VersionsByID(ctx, []ids.ID{current})
	if err == nil {
		s.hashes[entry] = versions[current].ContentHash
	}
	return err
}

func (s *shelf) install(ctx context.Context, by actor, entry ids.ID, device string) error {
	_, _, err := by.Install(ctx, entry, models.InstallEntryInput{DeviceID: device, InstallPath: graphql.OmittableOf(new("~/.skills"))})
	return err
}

func (s *shelf) publish(ctx context.Context, by actor, st step) (models.Published, error) {
	look := looks[st.entry]
	content, err := pack(st)
	if err != nil {
		return models.Published{}, err
	}
	in := models.NewVersion{Version: st.version, Source: models.VersionSourceCli}
	if st.words != "" {
		in.ChangeSummary = &st.words
	}
	if id, ok := s.entries[st.entry]; ok {
		return s.door.PushVersion(ctx, by, id, in, content)
	}
	look.Name, look.EntryType = st.entry, models.EntryTypeSkill
	out, err := s.door.CreateEntry(ctx, by, &look, in, content)
	if err == nil {
		s.entries[st.entry] = out.Entry.ID
	}
	return out, err
}

// contents are the files of a version.
func (st step) contents() map[string]string {
	out := maps.Clone(st.files)
	out["SKILL.md"] = fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s", st.entry, looks[st.entry].Description, out["SKILL.md"])
	return out
}

// pack makes the archive of a version.
func pack(st step) (*bytes.Reader, error) {
	var files []archive.Source
	for path, text := range st.contents() {
		files = append(files, archive.Source{Path: path, Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}})
	}
	var b bytes.Buffer
	err := archive.Pack(&b, files)
	return bytes.NewReader(b.Bytes()), err
}
