package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// ErrClosing ends streams when the server stops.
var ErrClosing = errors.New("the server is stopping; connect again")

var errTooSlow = errors.New("too slow")

// maxFilter bounds what a stream is compared with for every event.
const maxFilter = 50

// Filter says which events a stream has. What is empty lets everything through.
type Filter struct {
	Kinds   []string // "alert.created", or "alert.*" for all of a noun
	Objects []ids.ID
	// Subject is what of an event must be among Objects; nil: the object that it happened to.
	Subject func(*models.Event) *ids.ID
}

// Validate bounds a filter.
func (f Filter) Validate() error {
	if len(f.Kinds) > maxFilter {
		return errs.At("kinds").Because("must have at most %d items", maxFilter)
	}
	for i, k := range f.Kinds {
		if noun, verb, ok := strings.Cut(k, "."); !ok || noun == "" || verb == "" || strings.Contains(noun+strings.TrimSuffix(verb, "*"), "*") || strings.HasSuffix(verb, "*") && verb != "*" {
			return errs.At("kinds", i).Because("must be a kind such as suite.created, or all of a noun: suite.*")
		}
	}
	if len(f.Objects) > maxFilter {
		return errs.At("objectIds").Because("must have at most %d items", maxFilter)
	}
	return nil
}

func (f Filter) wants(e *models.Event) bool {
	noun, _, _ := strings.Cut(e.Kind, ".")
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind) && !slices.Contains(f.Kinds, noun+".*") {
		return false
	}
	if len(f.Objects) == 0 {
		return true
	}
	subject := &e.ObjectID
	if f.Subject != nil {
		subject = f.Subject(e)
	}
	return subject != nil && slices.Contains(f.Objects, *subject)
}

// Stream is what one subscription follows. It belongs to one goroutine.
type Stream struct {
	hub    *Hub
	org    store.Org
	filter Filter

	place int64              // everything up to here has been seen
	last  *ids.ID            // the last event that was given out, or that the client has named
	page  []*store.ToldEvent // read from the table, and not given out yet
	until int64              // the table is to be read up to here, the buffer has the rest; -1: it has not joined the others yet

	events chan *store.ToldEvent
	ended  chan struct{}
	why    error // to be read after ended is closed
}

// Follow begins a stream of an organization's events: those after the given one, or those from now on.
func (h *Hub) Follow(ctx context.Context, org store.Org, after *ids.ID, f Filter) (*Stream, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	s := &Stream{hub: h, org: org, filter: f, last: after, until: -1, events: make(chan *store.ToldEvent, h.limits.Buffer), ended: make(chan struct{})}
	if err := h.admit(s); err != nil {
		return nil, err
	}
	var err error
	if after != nil {
		s.place, err = org.EventPlace(ctx, *after)
	} else {
		s.place, err = org.LastEvent(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	if after == nil {
		s.until = h.join(s, s.place)
	}
	return s, nil
}

// Next waits for the next event. It fails when the stream has ended, and with the error of ctx.
func (s *Stream) Next(ctx context.Context) (*models.Event, error) {
	for {
		e, err := s.next(ctx)
		if err != nil {
			return nil, err
		}
		if e.Seq <= s.place {
			continue // seen in the table, and then in the buffer
		}
		s.place = e.Seq
		if s.filter.wants(&e.Event) {
			s.last = &e.ID
			return &e.Event, nil
		}
	}
}

func (s *Stream) next(ctx context.Context) (*store.ToldEvent, error) {
	select { // who is dropped hears it before the rest of the buffer, which would come once more
	case <-s.ended:
		return nil, s.reason()
	default:
	}
	for len(s.page) == 0 && (s.until < 0 || s.place < s.until) {
		if err := s.turn(ctx); err != nil {
			return nil, err
		}
	}
	if len(s.page) > 0 {
		e := s.page[0]
		s.page = s.page[1:]
		return e, nil
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.ended:
		return nil, s.reason()
	case e := <-s.events:
		return e, nil
	}
}

// turn reads the next page of what was missed. When the end is near the stream joins the others: what is written from then on comes
// through the buffer, which so does not run over while a long history is read.
func (s *Stream) turn(ctx context.Context) error {
	org := s.org.ID()
	found, err := s.hub.store.EventsAfter(ctx, map[ids.ID]int64{org: s.place}, batch)
	if errs.CodeOf(err) == errs.Unavailable { // the database is away, and nothing is lost by waiting for it
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.ended:
			return s.reason()
		case <-time.After(pause):
			return nil
		}
	}
	if err != nil {
		return err
	}
	s.page = found[org]
	if len(s.page) == batch {
		return nil
	}
	switch {
	case s.until >= 0 && len(s.page) == 0:
		s.until = s.place // what was there is gone
	case s.until < 0 && len(s.page) == 0:
		s.until = s.hub.join(s, s.place)
	case s.until < 0:
		s.until = s.hub.join(s, s.page[len(s.page)-1].Seq)
	}
	return nil
}

// reason is why the stream has ended, in words for its follower.
func (s *Stream) reason() error {
	if !errors.Is(s.why, errTooSlow) {
		return s.why
	}
	if s.last == nil {
		return errs.New(errs.TooSlow, "too slow: subscribe again")
	}
	return errs.New(errs.TooSlow, "too slow: resume with after: %s", s.last)
}

// Close ends the stream.
func (s *Stream) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.end(s, context.Canceled)
}
