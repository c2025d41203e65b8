package models

import (
	"time"

	"skillgraph/internal/errs"
)

// Export is what somebody wants to have all rows of.
type Export struct {
	Dataset string
	CSV     bool      // else a JSON object a line
	Since   time.Time // zero: from the beginning
	Until   time.Time // zero: to the end; it is not included itself
	Skill   string    // id or exact name; "": of every skill
	After   string    // key of the last row that the caller has; "": from the first
}

// Validate checks what can be checked without looking.
func (e *Export) Validate() error {
	if !e.Since.IsZero() && !e.Until.IsZero() && !e.Since.Before(e.Until) {
		return errs.At("until").Because("must be after since")
	}
	return nil
}
