package models

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

const (
	defaultPage = 20
	maxPage     = 100
	// maxList is how many items a list without pages shows; only our own REST documents ask for so many,
	// those of clients are refused above maxPage before they run.
	maxList = 1000
)

// PageArgs are the arguments that every list takes.
type PageArgs struct {
	First         *int
	After         *string
	Page, PerPage *int
}

// Window is a checked PageArgs: which part of a list to read. It is comparable, so that equal windows share a batch.
type Window struct {
	Limit, Offset int
	Page          int // from 1; 0 when paged by cursor
	After         Cursor
}

// Window checks the arguments and names the one it refuses.
func (a PageArgs) Window() (Window, error) {
	w := Window{Limit: defaultPage}
	switch {
	case a.Page != nil && a.After != nil:
		return w, errs.At("page").Because("page and after do not go together")
	case a.First != nil && a.PerPage != nil:
		return w, errs.At("perPage").Because("first and perPage do not go together")
	case a.First != nil && (*a.First < 1 || *a.First > maxList):
		return w, errs.At("first").Because("first must be between 1 and %d", maxPage)
	case a.PerPage != nil && (*a.PerPage < 1 || *a.PerPage > maxPage):
		return w, errs.At("perPage").Because("must be between 1 and %d", maxPage)
	case a.Page != nil && (*a.Page < 1 || *a.Page > 1_000_000):
		return w, errs.At("page").Because("must be between 1 and 1000000")
	}
	if a.First != nil {
		w.Limit = *a.First
	}
	if a.PerPage != nil {
		w.Limit = *a.PerPage
	}
	if a.Page != nil {
		w.Page, w.Offset = *a.Page, (*a.Page-1)*w.Limit
	}
	if a.After != nil {
		c, ok := parseCursor(*a.After)
		if !ok {
			return w, errs.At("after").Because("is not a cursor of this list")
		}
		w.After = c
	}
	return w, nil
}

// Cursor is a place in an ordered list: the values the list is ordered by, and the id that breaks ties.
type Cursor struct {
	Order string
	Key   string
	ID    ids.ID
}

// keySeparator cannot be in a value that lists are ordered by: names have no control characters.
const keySeparator = "\x1f"

// CursorKey puts the values of a place into one text.
func CursorKey(values ...string) string { return strings.Join(values, keySeparator) }

// Keys takes them apart again.
func (c Cursor) Keys() []string {
	if c.Key == "" {
		return nil
	}
	return strings.Split(c.Key, keySeparator)
}

// String is the opaque form that clients carry around.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.Order + "\n" + c.ID.String() + "\n" + c.Key))
}

func parseCursor(s string) (Cursor, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return Cursor{}, false
	}
	parts := strings.SplitN(string(b), "\n", 3)
	if len(parts) != 3 {
		return Cursor{}, false
	}
	id, err := ids.Parse(parts[1])
	return Cursor{Order: parts[0], Key: parts[2], ID: id}, err == nil && !id.IsZero()
}

// Connection is a page of any list, in the shape of Relay's connections.
type Connection[T any] struct {
	Nodes    []*T
	PageInfo *PageInfo
	cursor   func(*T) Cursor
}

// Edge is an item of a page with its cursor.
type Edge[T any] struct {
	Cursor string
	Node   *T
}

// PageInfo tells where a page lies.
type PageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool
	Page            *int
	PerPage         int
	total           func(context.Context) (int, error)
	of              places
}

// places are those of the items of a page.
type places interface {
	items() int
	place(item int) Cursor
}

// NewConnection makes a page from the rows that a window asked for and, where there is more, one row beyond.
// total runs only when a client selects it.
func NewConnection[T any](w Window, rows []*T, cursor func(*T) Cursor, total func(context.Context) (int, error)) *Connection[T] {
	page := struct { // made at once, as an answer may have hundreds
		Connection[T]
		info PageInfo
	}{
		Connection[T]{Nodes: rows[:min(len(rows), w.Limit)], cursor: cursor},
		PageInfo{HasNextPage: len(rows) > w.Limit, HasPreviousPage: w.Offset > 0 || !w.After.ID.IsZero(), PerPage: w.Limit, total: total},
	}
	if w.Page > 0 {
		page.info.Page = &w.Page
	}
	page.PageInfo, page.info.of = &page.info, &page.Connection
	return &page.Connection
}

func (c *Connection[T]) items() int            { return len(c.Nodes) }
func (c *Connection[T]) place(item int) Cursor { return c.cursor(c.Nodes[item]) }

// MapConnection shows every item of a page as something else.
func MapConnection[T, U any](c *Connection[T], as func(*T) *U) *Connection[U] {
	out := &Connection[U]{PageInfo: c.PageInfo, Nodes: make([]*U, len(c.Nodes))}
	cursors := make(map[*U]Cursor, len(c.Nodes))
	for i, n := range c.Nodes {
		out.Nodes[i] = as(n)
		cursors[out.Nodes[i]] = c.cursor(n)
	}
	out.cursor = func(n *U) Cursor { return cursors[n] }
	return out
}

// Edges are the items with their cursors.
func (c *Connection[T]) Edges() []*Edge[T] {
	out := make([]*Edge[T], len(c.Nodes))
	for i, n := range c.Nodes {
		out[i] = &Edge[T]{Cursor: c.cursor(n).String(), Node: n}
	}
	return out
}

// TotalCount counts the items of all pages.
func (c *Connection[T]) TotalCount(ctx context.Context) (int, error) { return c.PageInfo.Total(ctx) }

// StartCursor is the place of the first item.
func (p *PageInfo) StartCursor() *string { return p.cursor(0) }

// EndCursor is the place of the last item.
func (p *PageInfo) EndCursor() *string { return p.cursor(p.of.items() - 1) }

func (p *PageInfo) cursor(item int) *string {
	if p.of.items() == 0 {
		return nil
	}
	c := p.of.place(item).String()
	return &c
}

// Total is TotalCount, where numbered pages look for it.
func (p *PageInfo) Total(ctx context.Context) (int, error) { return p.total(ctx) }

// The pages of the schema.
type (
	APIKeyConnection           = Connection[APIKey]
	APIKeyEdge                 = Edge[APIKey]
	AlertConnection            = Connection[Alert]
	AlertEdge                  = Edge[Alert]
	IncidentConnection         = Connection[Incident]
	IncidentEdge               = Edge[Incident]
	NotificationConnection     = Connection[Notification]
	NotificationEdge           = Edge[Notification]
	EvalSuiteConnection        = Connection[EvalSuite]
	EvalSuiteEdge              = Edge[EvalSuite]
	SkillConnection            = Connection[Skill]
	SkillEdge                  = Edge[Skill]
	EventConnection            = Connection[Event]
	EventEdge                  = Edge[Event]
	SuiteRevisionConnection    = Connection[SuiteRevision]
	SuiteRevisionEdge          = Edge[SuiteRevision]
	UserConnection             = Connection[User]
	RegistryEntryConnection    = Connection[RegistryEntry]
	RegistryEntryEdge          = Edge[RegistryEntry]
	RegistryVersionConnection  = Connection[RegistryVersion]
	RegistryVersionEdge        = Edge[RegistryVersion]
	RepoLinkConnection         = Connection[RepoLink]
	RepoLinkEdge               = Edge[RepoLink]
	PublishAttemptConnection   = Connection[PublishAttempt]
	PublishAttemptEdge         = Edge[PublishAttempt]
	RepoDeliveryConnection     = Connection[RepoDelivery]
	RepoDeliveryEdge           = Edge[RepoDelivery]
	ReleaseConnection          = Connection[Release]
	ReleaseEdge                = Edge[Release]
	InstallationConnection     = Connection[Installation]
	InstallationEdge           = Edge[Installation]
	UserEdge                   = Edge[User]
	RepoInstallationConnection = Connection[RepoInstallation]
	RepoInstallationEdge       = Edge[RepoInstallation]
	SnapshotConnection         = Connection[Snapshot]
	SnapshotEdge               = Edge[Snapshot]
	SnapshotFileConnection     = Connection[SnapshotFile]
	SnapshotFileEdge           = Edge[SnapshotFile]
	ValidationReportConnection = Connection[ValidationReport]
	ValidationReportEdge       = Edge[ValidationReport]

	EvalResultConnection         = Connection[EvalResult]
	EvalResultEdge               = Edge[EvalResult]
	EvalRunConnection            = Connection[EvalRun]
	EvalRunEdge                  = Edge[EvalRun]
	EvalSuggestionConnection     = Connection[EvalSuggestion]
	EvalSuggestionEdge           = Edge[EvalSuggestion]
	SuggestionEvidenceConnection = Connection[SuggestionEvidence]
	SuggestionEvidenceEdge       = Edge[SuggestionEvidence]
	SuggestionReviewConnection   = Connection[SuggestionReview]
	SuggestionReviewEdge         = Edge[SuggestionReview]
)

// The pages of contributions.
type (
	CommunityBundleConnection = Connection[CommunityBundle]
	CommunityBundleEdge       = Edge[CommunityBundle]
	ProposalConnection        = Connection[Proposal]
	ProposalEdge              = Edge[Proposal]
)
