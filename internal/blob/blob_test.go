package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// place is where a store under test has its bytes, which are files either way.
type place struct {
	url   string
	dir   string
	begun func(t *testing.T) int // how many uploads are begun and not finished
	begin func(t *testing.T)     // begins one and forgets it
}

func folderPlace(t *testing.T) place {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data", "blobs")
	tmp := filepath.Join(dir, unfinished)
	return place{
		url: "file://" + dir, dir: dir,
		begun: func(t *testing.T) int {
			t.Helper()
			files, err := os.ReadDir(tmp)
			require.NoError(t, err)
			return len(files)
		},
		begin: func(t *testing.T) {
			t.Helper()
			require.NoError(t, os.WriteFile(filepath.Join(tmp, "half"), []byte("ha"), 0o600))
		},
	}
}

// ledger remembers what was entered.
type ledger struct {
	mu      sync.Mutex
	touched map[string]int64
	err     error
}

func (l *ledger) TouchBlob(_ context.Context, hash string, size int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.touched[hash] = size
	}
	return l.err
}

type fixture struct {
	*Store
	place
	ledger *ledger
}

func open(t *testing.T, p place) fixture {
	t.Helper()
	l := &ledger{touched: map[string]int64{}}
	s, err := Open(t.Context(), p.url, l)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return fixture{s, p, l}
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func (f fixture) put(t *testing.T, content string) (hash string) {
	t.Helper()
	hash = hashOf(content)
	require.NoError(t, f.Put(t.Context(), hash, int64(len(content)), strings.NewReader(content)))
	return hash
}

func (f fixture) read(t *testing.T, hash string) string {
	t.Helper()
	r, err := f.Open(t.Context(), hash)
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, int64(len(b)), r.Size())
	return string(b)
}

func (f fixture) missing(t *testing.T, hash string) {
	t.Helper()
	_, err := f.Open(t.Context(), hash)
	require.ErrorIs(t, err, ErrMissing)
}

// damage writes something else where a blob is, long ago.
func (f fixture) damage(t *testing.T, hash, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, hash), []byte(content), 0o600))
	f.age(t, hash)
}

var longAgo = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

func (f fixture) age(t *testing.T, hash string) {
	t.Helper()
	require.NoError(t, os.Chtimes(filepath.Join(f.dir, hash), longAgo, longAgo))
}

// large does not fit one part of an upload.
var large = func() string {
	b := make([]byte, 2*partSize+12345)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return string(b)
}()

func TestFolder(t *testing.T) {
	t.Parallel()
	suite(t, folderPlace)
}

// suite is what holds wherever the bytes are.
func suite(t *testing.T, newPlace func(*testing.T) place) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, fixture){
		"there and back":     thereAndBack,
		"wrong bytes":        wrongBytes,
		"reader fails":       readerFails,
		"nobody waits":       nobodyWaits,
		"ledger first":       ledgerFirst,
		"damage":             damage,
		"verified once":      verifiedOnce,
		"delete":             deleted,
		"sweep":              sweep,
		"names":              names,
		"ranges":             ranges,
		"all at once":        allAtOnce,
		"two at one place":   twoStores,
		"read while written": readWhileWritten,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, newPlace(t))) })
	}
}

func thereAndBack(t *testing.T, f fixture) {
	for _, content := range []string{"", "x", strings.Repeat("some content ", 1000), large} {
		begun := time.Now()
		hash := f.put(t, content)
		require.Equal(t, content, f.read(t, hash))
		require.Equal(t, content, f.read(t, hash), "again")
		require.Equal(t, int64(len(content)), f.ledger.touched[hash])
		r, err := f.Open(t.Context(), hash)
		require.NoError(t, err)
		require.WithinDuration(t, begun, r.ModTime(), time.Minute)
		require.NoError(t, r.Close())
	}
	f.missing(t, hashOf("never put"))
	require.Zero(t, f.begun(t))
}

func wrongBytes(t *testing.T, f fixture) {
	for _, content := range []string{"some content", large} {
		hash, size := hashOf(content), int64(len(content))
		refused := func() {
			for _, tt := range []struct {
				hash string
				size int64
				sent string
			}{
				{hash, size, content[1:]},
				{hash, size, ""},
				{hash, size, content + "x"},
				{hash, size, "X" + content[1:]},
				{hash, size, content[:size-1] + "\x00"},
				{hash, size - 1, content},
				{hash, size + 1, content},
				{hash, 0, content},
			} {
				require.ErrorIs(t, f.Put(t.Context(), tt.hash, tt.size, strings.NewReader(tt.sent)), ErrCorrupt)
			}
			require.Zero(t, f.begun(t))
		}
		refused()
		f.missing(t, hash)
		f.put(t, content)
		refused()
		require.Equal(t, content, f.read(t, hash), "what was there stays")
	}
}

func readerFails(t *testing.T, f fixture) {
	gone := errors.New("the caller has gone")
	for _, sent := range []int{0, 1, 100, len(large) - 1, len(large)} {
		err := f.Put(t.Context(), hashOf(large), int64(len(large)), io.MultiReader(strings.NewReader(large[:sent]), iotest.ErrReader(gone)))
		require.ErrorIs(t, err, gone)
		f.missing(t, hashOf(large))
		require.Zero(t, f.begun(t))
	}
}

func nobodyWaits(t *testing.T, f fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	sent := &afterwards{strings.NewReader(large), len(large) / 2, cancel}
	require.ErrorIs(t, f.Put(ctx, hashOf(large), int64(len(large)), sent), context.Canceled)
	f.missing(t, hashOf(large))
}

// afterwards does something when so many bytes are read.
type afterwards struct {
	io.Reader
	left int
	do   func()
}

func (a *afterwards) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if a.left -= n; a.left <= 0 {
		a.do()
	}
	return n, err
}

// A blob that cannot be entered is not written, and one that is being written is entered.
func ledgerFirst(t *testing.T, f fixture) {
	f.ledger.err = errors.New("the database is away")
	require.ErrorIs(t, f.Put(t.Context(), hashOf("x"), 1, iotest.ErrReader(errors.New("must not be read"))), f.ledger.err)
	f.missing(t, hashOf("x"))
	f.ledger.err = nil
	err := f.Put(t.Context(), hashOf("x"), 1, &afterwards{strings.NewReader("x"), 0, func() { require.Contains(t, f.ledger.touched, hashOf("x")) }})
	require.NoError(t, err)
}

func damage(t *testing.T, f fixture) {
	const content = "some content"
	hash := f.put(t, content)
	for _, bad := range []string{"", "some conten", "some contents", "SOME content", large} {
		f.damage(t, hash, bad)
		_, err := f.Open(t.Context(), hash)
		require.ErrorIs(t, err, ErrCorrupt)
	}
	require.Equal(t, hash, f.put(t, content), "it is written anew")
	require.Equal(t, content, f.read(t, hash))
}

// What was compared with its hash is not read again, until it is written again.
func verifiedOnce(t *testing.T, f fixture) {
	hash := f.put(t, "some content")
	f.age(t, hash)
	require.Equal(t, "some content", f.read(t, hash))
	f.damage(t, hash, "SOME CONTENT") // of the same size, at the same time
	r, err := f.Open(t.Context(), hash)
	require.NoError(t, err, "nobody looked")
	require.NoError(t, r.Close())
	require.NoError(t, os.Chtimes(filepath.Join(f.dir, hash), longAgo, longAgo.Add(time.Second)))
	_, err = f.Open(t.Context(), hash)
	require.ErrorIs(t, err, ErrCorrupt)

	// One that was written just now may be written again before the clock moves on.
	hash = f.put(t, "other content")
	now := time.Now().Add(time.Hour) // which lasts for as long as the test does
	require.NoError(t, os.Chtimes(filepath.Join(f.dir, hash), now, now))
	require.Equal(t, "other content", f.read(t, hash))
	f.damage(t, hash, "OTHER CONTENT")
	require.NoError(t, os.Chtimes(filepath.Join(f.dir, hash), now, now))
	_, err = f.Open(t.Context(), hash)
	require.ErrorIs(t, err, ErrCorrupt)
}

func deleted(t *testing.T, f fixture) {
	hash, other := f.put(t, "some content"), f.put(t, "other content")
	require.Equal(t, "some content", f.read(t, hash))
	for range 2 {
		require.NoError(t, f.Delete(t.Context(), hash))
		f.missing(t, hash)
	}
	require.Equal(t, "other content", f.read(t, other))
	f.put(t, "some content")
	require.Equal(t, "some content", f.read(t, hash))
}

func sweep(t *testing.T, f fixture) {
	hash := f.put(t, "some content")
	f.age(t, hash)
	f.begin(t)
	f.begin(t)
	n := f.begun(t)
	require.NoError(t, f.Sweep(t.Context(), time.Now().Add(-time.Hour)))
	require.Equal(t, n, f.begun(t), "they may yet be finished")
	require.NoError(t, f.Sweep(t.Context(), time.Now().Add(time.Hour)))
	require.Zero(t, f.begun(t))
	require.Equal(t, "some content", f.read(t, hash))
}

func names(t *testing.T, f fixture) {
	good := hashOf("x")
	for _, bad := range []string{"", "x", "../" + good, good[1:], good + "0", strings.ToUpper(good), unfinished, strings.Repeat("g", 64), strings.Repeat("../", 21) + "a"} {
		require.ErrorContains(t, f.Put(t.Context(), bad, 1, strings.NewReader("x")), "is not a SHA-256")
		_, err := f.Open(t.Context(), bad)
		require.ErrorContains(t, err, "is not a SHA-256")
		require.ErrorContains(t, f.Delete(t.Context(), bad), "is not a SHA-256")
	}
	require.Empty(t, f.ledger.touched)
}

func ranges(t *testing.T, f fixture) {
	hash := f.put(t, large)
	f.age(t, hash)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		blob, err := f.Open(r.Context(), hash)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		defer blob.Close()
		http.ServeContent(w, r, "a.tar.gz", blob.ModTime(), blob)
	}))
	defer server.Close()
	for _, tt := range []struct {
		header     string
		begin, end int
	}{{"", 0, len(large)}, {"bytes=0-9", 0, 10}, {"bytes=7000000-7000099", 7_000_000, 7_000_100}, {"bytes=-5", len(large) - 5, len(large)}, {"bytes=1000-", 1000, len(large)}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		require.NoError(t, err)
		if tt.header != "" {
			req.Header.Set("Range", tt.header)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.True(t, large[tt.begin:tt.end] == string(got), tt.header) //nolint:testifylint // 10 MB of difference help nobody
	}
}

func allAtOnce(t *testing.T, f fixture) {
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			content := strings.Repeat(string(rune('a'+i%4)), 10_000)
			hash := hashOf(content)
			for range 5 {
				if err := f.Put(t.Context(), hash, int64(len(content)), strings.NewReader(content)); err != nil {
					t.Error(err)
				}
				r, err := f.Open(t.Context(), hash)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(r)
				if err != nil || string(b) != content {
					t.Error("read something else", err)
				}
				_ = r.Close()
			}
		})
	}
	wg.Wait()
	require.Zero(t, f.begun(t))
}

// Several servers share a place.
func twoStores(t *testing.T, f fixture) {
	other := open(t, f.place)
	hash := f.put(t, "some content")
	require.Equal(t, "some content", other.read(t, hash))
	require.NoError(t, other.Delete(t.Context(), hash))
	f.missing(t, hash)
}

// Who reads a blob reads it to its end, whatever becomes of it.
func readWhileWritten(t *testing.T, f fixture) {
	hash := f.put(t, large)
	r, err := f.Open(t.Context(), hash)
	require.NoError(t, err)
	defer r.Close()
	half := make([]byte, len(large)/2)
	_, err = io.ReadFull(r, half)
	require.NoError(t, err)
	f.put(t, large)
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(large), append(half, rest...)))
}
