// Package blob keeps bytes under their SHA-256: in a folder, or in a bucket of an S3 service.
//
// The bucket is reached through gocloud.dev. The folder is not: its driver never calls fsync, and renames a file into place before
// its content is on the disk, so that a power cut leaves an empty file where an archive was promised. It takes a hundred lines to
// do it properly (see folder.go), and fewer than to bend that driver.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// What may be wrong with a blob.
var (
	ErrMissing = errors.New("blob: there is no such blob")
	ErrCorrupt = errors.New("blob: the bytes are not those of the hash")
)

// Ledger knows which blobs there may be. A blob is entered before it is written, so that one which nobody refers to is found.
type Ledger interface {
	TouchBlob(ctx context.Context, hash string, size int64) error
}

// Store keeps blobs.
type Store struct {
	bucket   bucket
	ledger   Ledger
	verified *lru.Cache[version, struct{}]
}

// bucket is where the bytes are.
type bucket interface {
	// put writes all of content, or nothing that could be seen when content fails.
	put(ctx context.Context, hash string, content io.Reader) error
	// open fails with ErrMissing.
	open(ctx context.Context, hash string) (*Reader, error)
	// remove is content with what is not there.
	remove(ctx context.Context, hash string) error
	// sweep removes what was begun before and never finished.
	sweep(ctx context.Context, before time.Time) error
	close() error
}

// version is bytes that were compared with their hash.
type version struct {
	hash     string
	modified int64
	size     int64
}

const (
	remembered = 10_000
	// A clock of a file system, or of S3, may stand still for a second: what was changed since looks the same.
	settled = 3 * time.Second
)

// Open opens the store at file:///absolute/path, a folder that is made where it is missing, or at
// s3://bucket?region=…&endpoint=…, with whatever else gocloud.dev/blob/s3blob takes, and the AWS SDK's credentials.
func Open(ctx context.Context, at string, ledger Ledger) (*Store, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, errors.New("blobs: the address is not a URL")
	}
	var b bucket
	switch {
	case u.Scheme == "file" && u.Host == "" && u.RawQuery == "" && u.Path != "":
		b, err = openFolder(u.Path)
	case u.Scheme == "s3" && u.Host != "":
		b, err = openS3(ctx, at)
	default:
		return nil, errors.New("blobs: the address must be file:///absolute/path or s3://bucket?region=…")
	}
	if err != nil {
		return nil, fmt.Errorf("blobs: %w", err)
	}
	known, err := lru.New[version, struct{}](remembered)
	return &Store{b, ledger, known}, err
}

// Put writes a blob and returns when it is safe. The bytes must be those of the hash, and as many as size says, else nothing is to
// be seen of them and the error is ErrCorrupt. A blob that is there is written anew, since it may be damaged.
func (s *Store) Put(ctx context.Context, hash string, size int64, content io.Reader) error {
	if err := check(hash); err != nil {
		return err
	}
	if err := s.ledger.TouchBlob(ctx, hash, size); err != nil {
		return err
	}
	c := &checked{r: content, hash: sha256.New(), want: hash, left: size}
	if err := s.bucket.put(ctx, hash, c); c.err == nil {
		return err
	}
	return c.err // in its own words, not in those of whoever wanted to send it
}

// Open opens a blob for reading, after comparing all of it with its hash: the error is ErrMissing or ErrCorrupt where it is
// that. What was compared before, and has not been written since, is not read again.
func (s *Store) Open(ctx context.Context, hash string) (*Reader, error) {
	if err := check(hash); err != nil {
		return nil, err
	}
	r, err := s.bucket.open(ctx, hash)
	if err != nil {
		return nil, err
	}
	v := version{hash, r.modTime.UnixNano(), r.size}
	if s.verified.Contains(v) {
		return r, nil
	}
	if err := r.verify(hash); err != nil {
		_ = r.Close()
		return nil, err
	}
	if time.Since(r.modTime) > settled {
		s.verified.Add(v, struct{}{})
	}
	return r, nil
}

// Delete removes a blob. One that is missing is fine.
func (s *Store) Delete(ctx context.Context, hash string) error {
	if err := check(hash); err != nil {
		return err
	}
	return s.bucket.remove(ctx, hash)
}

// Sweep removes what a crash has left half written, if it was last touched before olderThan.
func (s *Store) Sweep(ctx context.Context, olderThan time.Time) error {
	return s.bucket.sweep(ctx, olderThan)
}

// Close lets go of the bucket.
func (s *Store) Close() error { return s.bucket.close() }

// check keeps everything but hashes from becoming a name.
func check(hash string) error {
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != hash {
		return fmt.Errorf("blob: %q is not a SHA-256", hash)
	}
	return nil
}

// Reader reads a blob.
type Reader struct {
	io.ReadSeekCloser
	size    int64
	modTime time.Time
}

// Size is how many bytes there are.
func (r *Reader) Size() int64 { return r.size }

// ModTime is when the blob was last written.
func (r *Reader) ModTime() time.Time { return r.modTime }

func (r *Reader) verify(want string) error {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if (err == nil || n == r.size) && hex.EncodeToString(h.Sum(nil)) != want { // at the end S3 may complain first
		return fmt.Errorf("%w: %s", ErrCorrupt, want)
	}
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	return err
}

// checked reads what is to be written, and fails at its end when it is something else.
type checked struct {
	r    io.Reader
	hash hash.Hash
	want string
	left int64
	err  error // that it failed with
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	c.left -= int64(n)
	atEnd := errors.Is(err, io.EOF)
	switch {
	case c.left < 0 || atEnd && (c.left != 0 || hex.EncodeToString(c.hash.Sum(nil)) != c.want):
		c.err = fmt.Errorf("%w: %s", ErrCorrupt, c.want)
		return 0, c.err
	case err != nil && !atEnd:
		c.err = err
	}
	return n, err
}
