package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// folder has a file for every blob, under its hash, and those that are being written in a folder of their own. A file is on the
// disk before it gets its name, and so is the name before put returns.
type folder struct{ root *os.Root }

const unfinished = "tmp"

func openFolder(path string) (*folder, error) {
	if err := makeFolder(filepath.Join(path, unfinished)); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	return &folder{root}, err
}

// makeFolder makes a folder and those above it where they are missing, and makes sure that they stay.
func makeFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	return syncAndClose(f)
}

func (f *folder) put(ctx context.Context, hash string, content io.Reader) error {
	name := filepath.Join(unfinished, hash+"."+rand.Text())
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, until{ctx, content})
	if err == nil {
		err = syncAndClose(file)
	} else {
		_ = file.Close()
	}
	if err == nil {
		err = f.root.Rename(name, hash)
	}
	if err != nil {
		_ = f.root.Remove(name)
		return err
	}
	return f.sync()
}

// sync makes the names stay.
func (f *folder) sync() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	return syncAndClose(dir)
}

func syncAndClose(f *os.File) error {
	return errors.Join(f.Sync(), f.Close())
}

func (f *folder) open(_ context.Context, hash string) (*Reader, error) {
	file, err := f.root.Open(hash)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &Reader{file, info.Size(), info.ModTime()}, nil
}

func (f *folder) remove(_ context.Context, hash string) error {
	if err := f.root.Remove(hash); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.sync()
}

func (f *folder) sweep(ctx context.Context, before time.Time) error {
	files, err := fs.ReadDir(f.root.FS(), unfinished)
	if err != nil {
		return err
	}
	for _, file := range files {
		info, err := file.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // finished since
		}
		if err == nil && info.ModTime().Before(before) {
			err = f.root.Remove(filepath.Join(unfinished, file.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (f *folder) close() error { return f.root.Close() }

// until stops reading when nobody waits any longer.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
