// Package live tells whoever follows an organization what happens in it, as it happens: the stream behind every
// subscription.
//
// One connection a process hears that something was written; what was written is then read once, for all organizations that
// somebody follows and that were heard of, and handed to the streams in memory. A stream knows how far it has got, so that what came
// while nobody listened is read from the table: at the beginning, when the client says after which event, and
// after the database was away. Why nothing can be missed is in docs/adr/0013-event-stream.md.
package live

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
)

// Limits bound what followers may ask of the process; zero is the default.
type Limits struct {
	Buffer int // events that a stream may lag behind: 256
	PerOrg int // streams of an organization at once: 200
}

// batch is how many events of an organization are read with one statement.
const batch = 500

// pause is between a failure and the next try.
const pause = time.Second

// Hub hands events to streams. It listens while there are any.
type Hub struct {
	store   *store.Store
	limits  Limits
	dropped prometheus.Counter

	mu      sync.Mutex
	orgs    map[ids.ID]*followed
	heard   map[ids.ID]bool    // of which there is something to read
	stop    context.CancelFunc // ends the listener and the reader; nil: there are none
	wake    chan struct{}      // of the reader
	closing bool
}

// followed is an organization that somebody follows.
type followed struct {
	head    int64            // everything up to here has been handed out; -1: nobody has caught up yet
	streams map[*Stream]bool // true: it has caught up, and is handed what comes
}

// New makes a hub for the events of a store.
func New(s *store.Store, limits Limits) *Hub {
	if limits.Buffer == 0 {
		limits.Buffer = 256
	}
	if limits.PerOrg == 0 {
		limits.PerOrg = 200
	}
	return &Hub{
		store: s, limits: limits, orgs: map[ids.ID]*followed{}, heard: map[ids.ID]bool{},
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "skillgraph_streams_dropped_total", Help: "Streams that were ended because their client was too slow."}),
	}
}

// Collect registers the figures.
func (h *Hub) Collect(reg prometheus.Registerer) {
	reg.MustRegister(h.dropped, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "skillgraph_streams", Help: "Streams of events that somebody follows."}, func() float64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		n := 0
		for _, f := range h.orgs {
			n += len(f.streams)
		}
		return float64(n)
	}))
}

// Close ends every stream, and those to come, with ErrClosing.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing = true
	for _, f := range h.orgs {
		for s := range f.streams {
			h.end(s, ErrClosing)
		}
	}
}

// admit lets a stream in, which may have a lot to catch up with before it joins the others.
func (h *Hub) admit(s *Stream) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.orgs[s.org.ID()]
	switch {
	case h.closing:
		return ErrClosing
	case f == nil:
		f = &followed{head: -1, streams: map[*Stream]bool{}}
		h.orgs[s.org.ID()] = f
	case len(f.streams) >= h.limits.PerOrg:
		return errs.New(errs.RateLimited, "An organization may have %d subscriptions at once; end one first", h.limits.PerOrg)
	}
	f.streams[s] = false
	if h.stop == nil {
		var ctx context.Context
		ctx, h.stop = context.WithCancel(context.Background())
		h.wake = make(chan struct{}, 1) // the reader before this one may still look at its own
		go h.listen(ctx)
		go h.read(ctx, h.wake)
	}
	return nil
}

// join hands what comes to a stream that has got as far as place, and returns how far the others have got.
func (h *Hub) join(s *Stream, place int64) (head int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.orgs[s.org.ID()]
	if f == nil { // it was ended meanwhile
		return 0
	}
	if f.head < 0 {
		f.head = place
	}
	if _, in := f.streams[s]; in {
		f.streams[s] = true
	}
	h.tell(s.org.ID()) // what was written before somebody listened
	return f.head
}

// end takes a stream out, for a reason that its follower is told.
func (h *Hub) end(s *Stream, why error) {
	f := h.orgs[s.org.ID()]
	if f == nil {
		return
	}
	if _, in := f.streams[s]; !in {
		return
	}
	s.why = why
	close(s.ended)
	delete(f.streams, s)
	if len(f.streams) == 0 {
		delete(h.orgs, s.org.ID())
	}
	if len(h.orgs) == 0 {
		h.stop()
		h.stop = nil
	}
}

// tell notes that there is something to read.
func (h *Hub) tell(org ids.ID) {
	h.heard[org] = true
	select {
	case h.wake <- struct{}{}:
	default: // it is awake
	}
}

// listen hears of events, whatever becomes of the connection. What happened while there was none is read as soon as there is one again.
func (h *Hub) listen(ctx context.Context) {
	again(ctx, "cannot listen for events", func() (done bool, err error) {
		return false, h.store.Listen(ctx, func(org ids.ID) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if _, ok := h.orgs[org]; ok {
				h.tell(org)
			} else if org.IsZero() {
				for org := range h.orgs {
					h.tell(org)
				}
			}
		})
	})
}

// read hands out what was heard of.
func (h *Hub) read(ctx context.Context, wake <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
		again(ctx, "cannot read events", func() (bool, error) { return true, h.readOnce(ctx) })
	}
}

// again repeats what fails, after a pause, until it is done.
func again(ctx context.Context, trouble string, do func() (done bool, err error)) {
	for ctx.Err() == nil {
		done, err := do()
		if err == nil && done {
			return
		}
		if ctx.Err() == nil {
			slog.WarnContext(ctx, trouble, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// readOnce reads a batch for every organization that was heard of. A reader that is about to stop and its successor may both be
// here: what has been handed out already is left out.
func (h *Hub) readOnce(ctx context.Context) error {
	h.mu.Lock()
	places := map[ids.ID]int64{}
	for org := range h.heard {
		if f := h.orgs[org]; f != nil && f.head >= 0 {
			places[org] = f.head
		}
	}
	clear(h.heard)
	h.mu.Unlock()
	if len(places) == 0 {
		return nil
	}
	found, err := h.store.EventsAfter(ctx, places, batch)
	h.mu.Lock()
	defer h.mu.Unlock()
	for org := range places {
		if err != nil || len(found[org]) == batch {
			h.tell(org)
		}
	}
	for org, events := range found {
		h.hand(org, events)
	}
	return err
}

// hand gives events to the streams of an organization. One that has no room left is dropped: nobody waits for it.
func (h *Hub) hand(org ids.ID, events []*store.ToldEvent) {
	for _, e := range events {
		f := h.orgs[org]
		if f == nil {
			return
		}
		if e.Seq <= f.head {
			continue
		}
		f.head = e.Seq
		for s, caughtUp := range maps.Clone(f.streams) {
			if !caughtUp || !s.filter.wants(&e.Event) {
				continue
			}
			select {
			case s.events <- e:
			default:
				h.dropped.Inc()
				h.end(s, errTooSlow)
			}
		}
	}
}
