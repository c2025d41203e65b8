package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"skillgraph/internal/archive"
	"skillgraph/internal/skillmd"
)

// Installation is what to install, and where.
type Installation struct {
	Name     string // see Find
	Version  string // "": the current one
	To       string // the folder; "": one of the entry's name, here
	Device   string
	NoRecord bool // tell nobody
	Force    bool // replace a folder that does not look like a skill
}

// Placed is what was installed.
type Placed struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	ContentHash string `json:"content_hash"`
	Path        string `json:"path"`
	Files       int    `json:"files"`
	Replaced    bool   `json:"replaced"` // there was one before
	Recorded    bool   `json:"recorded"`
}

// Install downloads a version, verifies it, and puts its folder in the place of what is there, in one step: whoever looks sees the
// old one or the new one, never a half. Only then is the device recorded.
func (c *Client) Install(ctx context.Context, in Installation) (out Placed, err error) {
	e, err := c.Find(ctx, in.Name)
	if err != nil {
		return out, err
	}
	v, err := c.version(ctx, e, in.Version)
	if err != nil {
		return out, err
	}
	if in.To == "" {
		in.To = e.Name
	}
	path, err := filepath.Abs(in.To)
	if err != nil {
		return out, err
	}
	out = Placed{Name: e.Name, Version: v.Version, ContentHash: v.ContentHash, Path: path}
	if out.Replaced, err = mayReplace(path, in.Force); err != nil {
		return out, err
	}
	packed, err := c.download(ctx, e, v)
	if err != nil {
		return out, err
	}
	defer func() {
		_ = packed.Close()
		_ = os.Remove(packed.Name())
	}()
	if out.Files, err = place(packed, path, out.Replaced); err != nil || in.NoRecord {
		return out, err
	}
	if err := c.record(ctx, e, v, in.Device, path); err != nil {
		return out, fmt.Errorf("%s %s is in %s, but that could not be recorded (--no-record does without): %w", e.Name, v.Version, path, err)
	}
	out.Recorded = true
	return out, nil
}

// version is the one that is named, or the current one.
func (c *Client) version(ctx context.Context, e *Entry, name string) (*Version, error) {
	if name == "" && e.CurrentVersion == nil {
		return nil, &Error{Code: "CONFLICT", Message: e.Name + " has no current version: every one was rolled back or revoked. Name one: skillgraph versions " + e.Name}
	}
	if name == "" || e.CurrentVersion != nil && e.CurrentVersion.Version == name {
		return e.CurrentVersion, nil
	}
	_, list, _, err := c.Versions(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if v.Version == name {
			return &v, nil
		}
	}
	return nil, notFound("%s has no version %q: skillgraph versions %s lists them", e.Name, name, e.Name)
}

// download fetches the archive by its signed link, without the key, and verifies it.
func (c *Client) download(ctx context.Context, e *Entry, v *Version) (*os.File, error) {
	res, err := c.rest(ctx, http.MethodGet, registry+"/"+e.ID+"/versions/"+url.PathEscape(v.Version)+"/download", nil, nil)
	if err != nil {
		return nil, err
	}
	link := res.header.Get("Location")
	if link == "" {
		return nil, fmt.Errorf("the server gives no link to %s %s", e.Name, v.Version)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.fetch(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, refusal(answer)
	}
	file, err := os.CreateTemp("", "skillgraph-download-*")
	if err != nil {
		return nil, err
	}
	if err := c.verify(file, answer, v.ContentHash); err != nil {
		_ = file.Close()
		_ = os.Remove(file.Name())
		return nil, err
	}
	return file, nil
}

func (c *Client) verify(file *os.File, answer *http.Response, want string) error {
	hash := sha256.New()
	body := &counted{r: io.LimitReader(answer.Body, archive.MaxPacked+1), total: answer.ContentLength, of: "downloading", c: c}
	if _, err := io.Copy(io.MultiWriter(file, hash), body); err != nil {
		return &Error{Code: Unreachable, Message: "the download broke off: " + err.Error()}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		return fmt.Errorf("what was downloaded is not what was published: its SHA-256 is %s, not %s; nothing was installed", got, want)
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// mayReplace looks at what is at a path, and refuses to remove what may be somebody's work.
func mayReplace(path string, force bool) (there bool, err error) {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return true, fmt.Errorf("%s is there and is not a folder: choose another place with --to", path)
	}
	list, err := os.ReadDir(path)
	if err != nil || len(list) == 0 || force {
		return true, err
	}
	if _, err := os.Lstat(filepath.Join(path, skillmd.File)); err != nil {
		return true, fmt.Errorf("%s is there and is not a skill: choose another place with --to, or replace it with --force", path)
	}
	return true, nil
}

// place unpacks an archive beside a path, on the same file system, and then swaps them.
func place(packed io.Reader, path string, there bool) (files int, err error) {
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp(parent, ".skillgraph-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work) // after the swap, what was there before
	fresh := filepath.Join(work, "new")
	if err := os.Mkdir(fresh, 0o755); err != nil { //nolint:gosec // as readable as any folder
		return 0, err
	}
	if files, err = unpack(packed, fresh); err != nil {
		return 0, fmt.Errorf("the archive is refused, and nothing was installed: %w", err)
	}
	if !there {
		return files, os.Rename(fresh, path)
	}
	return files, swap(fresh, path)
}

// unpack goes through os.Root as well as through the guarded reader: nothing is written elsewhere.
func unpack(packed io.Reader, dir string) (files int, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	err = archive.TarGz(packed, func(path string, _ int64, content io.Reader) error {
		files++
		if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, content); err != nil {
			_ = f.Close()
			return err
		}
		return f.Close()
	})
	return files, err
}

// record says what the device has. The server notes the current version; another one is told by its hash.
func (c *Client) record(ctx context.Context, e *Entry, v *Version, device, path string) error {
	in := map[string]string{"device_id": device, "install_path": path}
	if _, err := c.rest(ctx, http.MethodPost, registry+"/"+e.ID+"/install", in, nil); err != nil {
		return err
	}
	_, err := c.rest(ctx, http.MethodPost, registry+"/sync", map[string]any{
		"device_id": device, "installations": []map[string]string{{"entry_id": e.ID, "current_version_hash": v.ContentHash}},
	}, nil)
	return err
}
