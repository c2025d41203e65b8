// Package bench measures what requests cost, as ratios to a floor in the same run: the same data read by one hand-written
// statement that builds the JSON in PostgreSQL, behind net/http, with the key looked up and the organization in the
// condition.
package bench

import (
	"log"
	"log/slog"
	"os"
	"testing"

	"skillgraph/internal/dbtest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // a line a request would be most of the output
	if os.Getenv(floorAddr) != "" {
		log.Fatal(runFloor())
	}
	dbtest.Main(measured{m})
}

// measured writes down what was measured.
type measured struct{ *testing.M }

func (m measured) Run() int {
	code := m.M.Run()
	if err := results.write("../../docs/benchmarks.md"); err != nil {
		log.Print(err)
		return 1
	}
	return code
}
