package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// report becomes docs/benchmarks.md, when all of it was measured.
type report struct {
	queries          strings.Builder
	planning, ingest string
	skills           []string
}

var results report

func (r *report) title(connections int) {
	fmt.Fprintf(&r.queries, "\n### %d at a time\n\n| Query | By | Requests/s | Of the floor | p50, ms | p99, ms | Statements | Server CPU, ms | Allocations | Allocated, KB | Resident, MiB |\n|---|---|---|---|---|---|---|---|---|---|---|\n", connections)
}

func (r *report) row(name string, c, floor *contender) {
	n := float64(len(c.times))
	statements := "1"
	if c != floor {
		statements = fmt.Sprintf("%.1f", c.used.statements/n)
	}
	line := fmt.Sprintf("| %s | %s | %.0f | %.2f | %.2f | %.2f | %s | %.2f | %.0f | %.0f | %.0f |", name, c.name,
		n/c.length.Seconds(), n/float64(len(floor.times))*floor.length.Seconds()/c.length.Seconds(), quantile(c.times, 0.5), quantile(c.times, 0.99),
		statements, 1000*c.used.cpu/n, c.used.allocations/n, c.used.allocated/n/1024, c.used.resident/(1<<20))
	fmt.Println(line)
	fmt.Fprintln(&r.queries, line)
}

// write writes the page, unless something was left out.
func (r *report) write(path string) error {
	if r.queries.Len() == 0 || r.planning == "" || r.ingest == "" || len(r.skills) == 0 {
		return nil
	}
	load, _ := os.ReadFile("/proc/loadavg") // where there is none, it is not told
	page := fmt.Sprintf(head, time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), strings.TrimSpace(string(load))) +
		r.queries.String() + "\n" + r.planning + "\n\n## Ingest\n\n" + r.ingest + "\n\n## Skill pages\n\n" + strings.Join(r.skills, "\n") + "\n"
	return os.WriteFile(path, []byte(page), 0o644) //nolint:gosec // a page of documentation
}

const head = `# Benchmarks

Written by ` + "`make bench`" + ` on %s: %d cores, %s, everything (client, servers, PostgreSQL) on the same machine; its load average at
the end was %s. Absolute figures depend on the machine and on what else it does; the ratios are of one run, everybody in turn.

## Queries

The database has 50 organizations, each with 40 skills of 90 days, 40 registry entries with 25 versions, 5 devices and a repository,
20 sources with 30 reviewed suggestions, and 10 suites; and 2 million invocations.

- **floor**: one hand-written statement that builds the JSON in PostgreSQL (` + "`json_agg`" + `), behind net/http, with the key looked up in it.
- **level** and **gqlgen**: ` + "`skillgraph serve`" + ` with that ` + "`--executor`" + `, authentication, tenancy, limits and metrics included.
- **REST**: a route that shows much the same, on the level executor.
`
