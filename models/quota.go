package models

import (
	"time"

	"skillgraph/internal/errs"
)

// Quota is what is left of a number of calls.
type Quota struct {
	Limit     int
	Remaining int
	Reset     time.Duration // until there are as many again
	Allowed   bool          // whether this call was one of them
}

// Seconds until there are as many again, rounded up: whoever waits so long is not too early.
func (q Quota) Seconds() int { return max(1, int((q.Reset+time.Second-1)/time.Second)) }

// Check refuses a call beyond the limit.
func (q Quota) Check() error {
	if q.Allowed {
		return nil
	}
	return &errs.Error{
		Code: errs.RateLimited, Message: "The organization has made as many calls as it may in an hour; try again in the next one",
		RetryAfter: time.Duration(q.Seconds()) * time.Second,
	}
}
