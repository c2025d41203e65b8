package models

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// CommunityBundle is a contribution, as its creator sees it. The bundle itself is read only where somebody asks for it.
type CommunityBundle struct {
	bun.BaseModel `bun:"table:community_bundles,alias:t"`

	CreatorID           ids.ID    `bun:"creator_id,pk"`
	ID                  ids.ID    `bun:"id,pk"`
	SkillName           string    `bun:"skill_name"`
	ContributorHash     string    `bun:"contributor_hash"`
	SchemaVersion       string    `bun:"schema_version"`
	AgentType           string    `bun:"agent_type"`
	ToolVersion         *string   `bun:"tool_version"`
	SanitizationLevel   string    `bun:"sanitization_level"`
	PositiveQueryCount  int       `bun:"positive_query_count"`
	EvalEntryCount      int       `bun:"eval_entry_count"`
	TotalSessions       int       `bun:"total_sessions"`
	GradedSessions      *int      `bun:"graded_sessions"`
	AveragePassRate     *float64  `bun:"average_pass_rate"`
	DeployedProposals   *int      `bun:"deployed_proposals"`
	RolledBackProposals *int      `bun:"rolled_back_proposals"`
	SubmittedAt         time.Time `bun:"submitted_at"`
}

// PassRate is the mean over the graded sessions.
func (b *CommunityBundle) PassRate() *Rate {
	if b.GradedSessions == nil {
		return nil
	}
	return NewRate(b.AveragePassRate, *b.GradedSessions)
}

// Submission is a bundle on its way in.
type Submission struct {
	CommunityBundle
	Digest []byte // of the whole bundle, however it was spelled
	Bundle JSON   // without what could tell who sent it
}

// CommunitySummary is what contributors have sent about one skill.
type CommunitySummary struct {
	SkillID            *ids.ID   `bun:"skill_id"` // the skill of this name in the caller's organization
	SkillName          string    `bun:"skill_name"`
	SubmissionCount    int       `bun:"submission_count"`
	ContributorCount   int       `bun:"contributor_count"`
	LatestSubmissionAt time.Time `bun:"latest_submission"`
	TotalSessions      int       `bun:"total_sessions"`
	GradedSessions     int       `bun:"graded_sessions"`
	AveragePassRate    *float64  `bun:"average_pass_rate"` // weighed by graded sessions
	PositiveQueryCount int       `bun:"positive_query_count"`
	EvalEntryCount     int       `bun:"eval_entry_count"`
}

// PassRate is the mean over the graded sessions of all bundles.
func (s *CommunitySummary) PassRate() *Rate { return NewRate(s.AveragePassRate, s.GradedSessions) }

// BundleSource says where the figures come from.
const BundleSource = "community_bundle"

// CommunityOverview is what contributors have sent to a creator.
type CommunityOverview struct {
	CreatorID         ids.ID
	GeneratedAt       time.Time
	TotalSubmissions  int
	TotalSkills       int
	TotalContributors int
	Skills            []*CommunitySummary
	Truncated         bool
}

// Source is always the same.
func (*CommunityOverview) Source() string { return BundleSource }

// RecentArgs says which bundles came last. It is comparable.
type RecentArgs struct {
	SkillName string // "": of every skill
	Limit     int
}

// Validate bounds the list.
func (a RecentArgs) Validate() error {
	if a.Limit < 1 || a.Limit > maxPage {
		return errs.At("limit").Because("must be between 1 and %d", maxPage)
	}
	return nil
}

// BundleSchema is the JSON Schema of bundles: the only place that says what one must have.
//
//go:embed bundle.schema.json
var BundleSchema []byte

var bundleSchema = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(BundleSchema))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(noRemote{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		panic(err)
	}
	return c.MustCompile(schemaURL)
})

const maxBundle = 512 << 10

// Submission checks a bundle and takes out of it what queries need, so that no query ever reads it.
func (in SubmitBundleInput) Submission() (*Submission, error) {
	if err := checkText(errs.At("skillName"), in.SkillName, 1, 200); err != nil {
		return nil, err
	}
	if len(in.Bundle) > maxBundle {
		return nil, errs.New(errs.TooLarge, "A bundle may have %d KiB", maxBundle>>10)
	}
	at := errs.At("bundle")
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(in.Bundle))
	if err != nil {
		return nil, at.Because("must be JSON")
	}
	if err := bundleFault(at, bundleSchema().Validate(doc)); err != nil {
		return nil, err
	}
	s := &Submission{}
	if err := s.extract(in.Bundle); err != nil {
		return nil, err
	}
	whole := doc.(map[string]any)
	if name, given := whole["skill_name"]; given && name != in.SkillName {
		return nil, at.At("skill_name").Because("must be the envelope's skill_name, %q", in.SkillName)
	}
	s.CreatorID, s.SkillName, s.Digest = in.CreatorID, in.SkillName, digest(whole)
	delete(whole, "contributor_id")
	s.Bundle, err = json.Marshal(whole)
	return s, err
}

// digest is the same for bundles that say the same, in whatever order and with whatever spaces.
func digest(doc map[string]any) []byte {
	canonical, _ := json.Marshal(doc) // sorts the keys; it was JSON a moment ago
	sum := sha256.Sum256(canonical)
	return sum[:]
}

// extract reads the columns of a bundle that fits the schema.
func (s *Submission) extract(raw JSON) error {
	type number = float64 // 3.0 is a whole number in JSON Schema
	var b struct {
		SchemaVersion     string            `json:"schema_version"`
		AgentType         string            `json:"agent_type"`
		ToolVersion       *string           `json:"tool_version"`
		SanitizationLevel string            `json:"sanitization_level"`
		PositiveQueries   []json.RawMessage `json:"positive_queries"`
		EvalEntries       []json.RawMessage `json:"eval_entries"`
		SessionMetrics    struct {
			TotalSessions number `json:"total_sessions"`
		} `json:"session_metrics"`
		GradingSummary *struct {
			GradedSessions  number `json:"graded_sessions"`
			AveragePassRate number `json:"average_pass_rate"`
		} `json:"grading_summary"`
		EvolutionSummary *struct {
			Deployed   number `json:"deployed_proposals"`
			RolledBack number `json:"rolled_back_proposals"`
		} `json:"evolution_summary"`
	}
	if err := json.Unmarshal(raw, &b); err != nil { // keys that differ by case alone
		return errs.At("bundle").Because("is not usable: %s", err)
	}
	s.SchemaVersion, s.AgentType, s.ToolVersion, s.SanitizationLevel = b.SchemaVersion, b.AgentType, b.ToolVersion, b.SanitizationLevel
	s.PositiveQueryCount, s.EvalEntryCount = len(b.PositiveQueries), len(b.EvalEntries)
	s.TotalSessions = int(b.SessionMetrics.TotalSessions)
	if g := b.GradingSummary; g != nil {
		s.GradedSessions, s.AveragePassRate = new(int(g.GradedSessions)), &g.AveragePassRate
	}
	if e := b.EvolutionSummary; e != nil {
		s.DeployedProposals, s.RolledBackProposals = new(int(e.Deployed)), new(int(e.RolledBack))
	}
	return nil
}

// bundleFault says in our words what the schema refuses: of several problems the first in the order of their paths.
func bundleFault(at errs.Path, err error) error {
	var fault *jsonschema.ValidationError
	if !errors.As(err, &fault) {
		return err
	}
	var found []*errs.Error
	collect(at, fault, &found)
	return slices.MinFunc(found, func(a, b *errs.Error) int { return slices.Compare(a.Path, b.Path) })
}

// schemaTypes are the types and formats of JSON Schema in our words.
var schemaTypes = map[string]string{
	"array": "a list", "boolean": "true or false", "date-time": "a time in RFC 3339", "integer": "a whole number",
	"null": "null", "number": "a number", "object": "an object", "string": "a string", "uuid": "a UUID",
}

func schemaWords(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = schemaTypes[w]
	}
	slices.Sort(out)
	return strings.Join(out, " or ")
}

func collect(at errs.Path, fault *jsonschema.ValidationError, found *[]*errs.Error) {
	for _, cause := range fault.Causes {
		collect(at, cause, found)
	}
	if len(fault.Causes) > 0 {
		return
	}
	for _, step := range fault.InstanceLocation {
		at = at.At(step)
	}
	switch k := fault.ErrorKind.(type) {
	case *kind.Required:
		*found = append(*found, at.At(k.Missing[0]).Because("is required"))
	case *kind.Type:
		*found = append(*found, at.Because("must be %s", schemaWords(k.Want...)))
	case *kind.Enum:
		words := make([]string, len(k.Want))
		for i, w := range k.Want {
			words[i], _ = w.(string)
		}
		*found = append(*found, at.Because("must be one of %s", strings.Join(words, ", ")))
	case *kind.Format:
		*found = append(*found, at.Because("must be %s", schemaWords(k.Want)))
	case *kind.MaxItems:
		*found = append(*found, at.Because("must have at most %d items", k.Want))
	case *kind.MaxLength:
		*found = append(*found, at.Because("must be at most %d characters long", k.Want))
	case *kind.MinLength:
		*found = append(*found, at.Because("must not be empty"))
	case *kind.Pattern: // there is one
		*found = append(*found, at.Because("must not contain control characters"))
	case *kind.Minimum:
		*found = append(*found, at.Because("must be at least %s", k.Want.RatString()))
	case *kind.Maximum:
		*found = append(*found, at.Because("must be at most %s", k.Want.RatString()))
	default:
		*found = append(*found, at.Because("does not fit the schema of bundles"))
	}
}
