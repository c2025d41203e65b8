package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"skillgraph/models"
)

// process is a server of its own, so that what it costs can be told from what the client costs.
type process struct{ url string }

// build builds the server that everybody gets.
func build(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "skillgraph")
	out, err := exec.Command("go", "build", "-o", path, "skillgraph/cmd/skillgraph").CombinedOutput()
	require.NoError(b, err, string(out))
	return path
}

// start runs a command that listens on the address and waits until it answers.
func start(b *testing.B, addr string, cmd *exec.Cmd) process {
	cmd.Stderr = os.Stderr
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	p := process{"http://" + addr}
	require.Eventually(b, func() bool {
		res, err := http.Get(p.url + "/metrics")
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	return p
}

func serve(b *testing.B, binary, database, executor string) process {
	addr := freeAddr(b)
	return start(b, addr, exec.Command(binary, "serve", "--addr", addr, "--database-url", database, "--data-dir", b.TempDir(), "--log-level", "warn", "--executor", executor))
}

func freeAddr(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	return l.Addr().String()
}

// usage is what a process has used since it began, and how large it is.
type usage struct{ cpu, statements, allocations, allocated, resident float64 }

func (p process) usage(b *testing.B) usage {
	res, err := http.Get(p.url + "/metrics")
	require.NoError(b, err)
	defer res.Body.Close()
	found := map[string]float64{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		found[name], _ = strconv.ParseFloat(value, 64) // what is no number is none of ours
	}
	return usage{
		cpu: found["process_cpu_seconds_total"], statements: found["skillgraph_db_statements_total"], resident: found["process_resident_memory_bytes"],
		allocations: found["go_memstats_mallocs_total"], allocated: found["go_memstats_alloc_bytes_total"],
	}
}

// The floor is this test binary, run again: these say where it listens and what it reads.
const (
	floorAddr     = "SKILLGRAPH_BENCH_FLOOR_ADDR"
	floorDatabase = "SKILLGRAPH_BENCH_FLOOR_DATABASE"
)

func serveFloor(b *testing.B, database string) process {
	addr := freeAddr(b)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), floorAddr+"="+addr, floorDatabase+"="+database)
	return start(b, addr, cmd)
}

// runFloor answers every question with what its statement builds, and looks up whose key it is, too.
func runFloor() error {
	cfg, err := pgxpool.ParseConfig(os.Getenv(floorDatabase))
	if err != nil {
		return err
	}
	cfg.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return err
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	for i, q := range questions() {
		mux.HandleFunc(fmt.Sprint("/", i), func(w http.ResponseWriter, r *http.Request) {
			var body []byte
			key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if err := pool.QueryRow(r.Context(), q.floor, models.HashKey(key)).Scan(&body); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		})
	}
	return http.ListenAndServe(os.Getenv(floorAddr), mux) //nolint:gosec // for a benchmark on this machine
}
