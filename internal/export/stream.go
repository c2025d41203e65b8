package export

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"skillgraph/models"
)

// buffer is how much is sent at once. As long as nothing was sent, an error can still be answered.
const buffer = 64 << 10

// stream takes rows and sends them in larger pieces, packed where the client likes that.
type stream struct {
	*bufio.Writer

	gz      *gzip.Writer // nil: as it is
	conn    *connection
	started bool
}

func newStream(w http.ResponseWriter, r *http.Request, in models.Export, clock func() time.Time, stall, life time.Duration) *stream {
	s := &stream{}
	packed := liking(strings.Join(r.Header.Values("Accept-Encoding"), ","), "gzip") > 0
	s.conn = &connection{w: w, control: http.NewResponseController(w), clock: clock, stall: stall, end: clock().Add(life), first: func() {
		s.started = true
		announce(w.Header(), in, packed)
	}}
	var out io.Writer = s.conn
	if packed {
		s.gz, _ = gzip.NewWriterLevel(s.conn, gzip.BestSpeed) // a level that there is
		out = s.gz
	}
	s.Writer = bufio.NewWriterSize(out, buffer)
	return s
}

// announce says what follows.
func announce(h http.Header, in models.Export, packed bool) {
	kind, ending := typeNDJSON, "ndjson"
	if in.CSV {
		kind, ending = typeCSV+"; charset=utf-8; header=present", "csv"
		if in.After != "" {
			kind = typeCSV + "; charset=utf-8; header=absent"
		}
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", in.Dataset+"."+ending))
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept, Accept-Encoding")
	h.Set("Trailer", RowCount)
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
}

// finish sends what was held back.
func (s *stream) finish() error {
	if err := s.Flush(); err != nil {
		return err
	}
	if s.gz != nil {
		if err := s.gz.Close(); err != nil {
			return err
		}
	}
	_, err := s.conn.Write(nil) // of no rows there is a beginning, too
	return err
}

// connection is the way to the client, who must keep reading.
type connection struct {
	w       http.ResponseWriter
	control *http.ResponseController
	clock   func() time.Time
	stall   time.Duration
	end     time.Time
	first   func() // before the first bytes; nil afterwards
}

func (c *connection) Write(p []byte) (int, error) {
	if c.first != nil {
		c.first()
		c.first = nil
	}
	// In place of the server's own limit, which is for answers that fit into minutes. A recorder in a test has none.
	until := c.clock().Add(c.stall)
	if until.After(c.end) {
		until = c.end
	}
	_ = c.control.SetWriteDeadline(until)
	return c.w.Write(p)
}
