// Package registry is the registry's one door for archives: whatever is published comes in through it, guarded, and goes out
// through it by a signed link. The store keeps what is known of an archive, the blobs its bytes.
package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"skillgraph/internal/archive"
	"skillgraph/internal/blob"
	"skillgraph/internal/errs"
	"skillgraph/internal/folder"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Registry publishes archives and shows what is in them.
type Registry struct {
	Blobs *blob.Store
	Links Links
}

func (r *Registry) folders() folder.Reader { return folder.Reader{Blobs: r.Blobs} }

const skillFile = "SKILL.md"

// CreateEntry publishes an entry with its first version.
func (r *Registry) CreateEntry(ctx context.Context, o store.Org, e *models.RegistryEntry, in models.NewVersion, content io.ReadSeeker) (out models.Published, err error) {
	v, files, err := r.Keep(ctx, in, content)
	if err != nil {
		return out, err
	}
	return o.CreateEntry(ctx, e, v, files)
}

// PushVersion publishes a version of an entry.
func (r *Registry) PushVersion(ctx context.Context, o store.Org, entry ids.ID, in models.NewVersion, content io.ReadSeeker) (out models.Published, err error) {
	if err := o.MayPush(ctx, entry, in); err != nil { // before the bytes are kept
		return out, err
	}
	v, files, err := r.Keep(ctx, in, content)
	if err != nil {
		return out, err
	}
	return o.PushVersion(ctx, entry, in, v, files)
}

// Keep inspects an archive and, when all is well, stores it: whatever row will name it, its bytes are on disk before.
func (r *Registry) Keep(ctx context.Context, in models.NewVersion, content io.ReadSeeker) (*models.RegistryVersion, []models.FileInfo, error) {
	a, err := Inspect(content)
	if err != nil {
		return nil, nil, errs.Within(err, "archive")
	}
	v, err := in.Of(a)
	if err != nil {
		return nil, nil, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	return v, a.Files, r.Blobs.Put(ctx, a.Hash, int64(a.Size), content)
}

// Inspect reads an archive once, from its beginning to its end: guards it, hashes it, and lists its files.
func Inspect(content io.Reader) (models.Archive, error) {
	sum := sha256.New()
	count := &counter{}
	files, err := archive.Manifest(func(visit archive.Visit) error {
		return archive.TarGz(io.TeeReader(content, io.MultiWriter(sum, count)), visit)
	}, nil)
	if err == nil && len(files) == 0 {
		err = errs.At().Because("has no files in it")
	}
	if err != nil {
		return models.Archive{}, err
	}
	a := models.Archive{Hash: hex.EncodeToString(sum.Sum(nil)), Size: count.n, Files: make([]models.FileInfo, len(files))}
	for i, f := range files {
		a.Files[i] = models.FileInfo{Path: f.Path, SHA256: f.SHA256, Size: int(f.Size)}
		if f.Path == skillFile {
			a.SkillHash = &a.Files[i].SHA256
		}
	}
	return a, nil
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}
