package export

import (
	"sync"
	"time"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// How many exports run at once on one server: each has a connection to the database for as long as it lasts, and everything else
// needs some, too.
const (
	maxOfOne = 2
	maxOfAll = 4
)

// gate counts the exports under way. The zero value is ready.
type gate struct {
	mu  sync.Mutex
	all int
	of  map[ids.ID]int
}

func (g *gate) enter(org ids.ID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.of[org] >= maxOfOne:
		return &errs.Error{Code: errs.RateLimited, RetryAfter: 10 * time.Second, Message: "Your organization has two exports under way: wait until one is done"}
	case g.all >= maxOfAll:
		return &errs.Error{Code: errs.Unavailable, RetryAfter: 10 * time.Second, Message: "As many exports are under way as the server runs at once: try again in a moment"}
	}
	if g.of == nil {
		g.of = map[ids.ID]int{}
	}
	g.all++
	g.of[org]++
	return nil
}

func (g *gate) leave(org ids.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.of[org]--; g.of[org] == 0 {
		delete(g.of, org)
	}
}
