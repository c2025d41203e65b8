package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"skillgraph/internal/folder"
	"skillgraph/internal/skillmd"
	"skillgraph/models"
)

// Publication is a folder to publish, and what its own SKILL.md does not say.
type Publication struct {
	Dir           string
	Name          string // "": that of SKILL.md
	Version       string // "": that of SKILL.md's metadata
	ChangeSummary string
	Visibility    string // of a new entry
	SourceRepo    string // of a new entry
	Force         bool   // publish what breaks the rules, too
}

// Published is what became of it.
type Published struct {
	Status  string  `json:"status"` // published, or unchanged where the very same was there
	Entry   Entry   `json:"entry"`
	Version Version `json:"version"`
	Files   int     `json:"files"`
	Size    int64   `json:"size"`
}

// ErrInvalid says that a folder breaks the rules; the issues say which.
var ErrInvalid = errors.New("the folder is not a valid skill, and nothing was published: mend it, or publish it as it is with --force")

// ErrNoVersion says that nobody has said which version it is.
var ErrNoVersion = errors.New("which version is it? Give --version, or put a line \"version: …\" under \"metadata:\" in SKILL.md")

// Publish checks a folder, packs it and makes it a version of its entry, which is made where there is none. The issues are there
// whatever happens then.
func (c *Client) Publish(ctx context.Context, in Publication) (out Published, issues []*models.ValidationIssue, err error) {
	c.progress("packing %s", in.Dir)
	files, report, err := readFolder(in.Dir)
	if err != nil {
		return out, nil, err
	}
	defer files.Close()
	if !in.Force && hasErrors(report.Issues) {
		return out, report.Issues, ErrInvalid
	}
	if in.Name == "" {
		in.Name = report.Name
	}
	if in.Name == "" { // it is forced
		return out, report.Issues, errors.New("what is its name? SKILL.md does not say: give --name")
	}
	if in.Version == "" {
		in.Version = report.Version
	}
	if in.Version == "" {
		return out, report.Issues, ErrNoVersion
	}
	packed, err := files.Pack()
	if err != nil {
		return out, report.Issues, err
	}
	defer packed.Close()
	out.Files, out.Size = len(files.Files), packed.Size
	err = c.upload(ctx, in, report.Description, packed, &out)
	return out, report.Issues, err
}

func hasErrors(issues []*models.ValidationIssue) bool {
	for _, i := range issues {
		if i.Level == models.IssueLevelError {
			return true
		}
	}
	return false
}

// metadata goes before the archive.
type metadata struct {
	Name          string `json:"name"`
	EntryType     string `json:"entry_type,omitempty"`
	Description   string `json:"description,omitempty"`
	Version       string `json:"version"`
	ChangeSummary string `json:"change_summary,omitempty"`
	ContentHash   string `json:"content_hash"`
	Visibility    string `json:"visibility,omitempty"`
	SourceRepo    string `json:"source_repo,omitempty"`
}

// upload pushes a version of the entry, or makes the entry. Somebody may make it meanwhile: then it is there the second time.
func (c *Client) upload(ctx context.Context, in Publication, description string, packed *folder.Packed, out *Published) error {
	about := metadata{Name: in.Name, Description: description, Version: in.Version, ChangeSummary: in.ChangeSummary, ContentHash: packed.Hash}
	for try := 1; ; try++ {
		e, err := c.own(ctx, in.Name)
		if err != nil {
			return err
		}
		path := registry
		if e != nil {
			path += "/" + e.ID + "/versions"
		} else {
			about.EntryType, about.Visibility, about.SourceRepo = "skill", in.Visibility, in.SourceRepo
		}
		err = c.post(ctx, path, about, packed, out)
		if e == nil && CodeOf(err) == "CONFLICT" && try == 1 {
			about.EntryType, about.Visibility, about.SourceRepo = "", "", ""
			continue
		}
		return err
	}
}

// post sends the form that both routes take.
func (c *Client) post(ctx context.Context, path string, about metadata, packed *folder.Packed, out *Published) error {
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	raw, err := json.Marshal(about)
	if err != nil {
		return err
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("metadata", string(raw)); err != nil {
		return err
	}
	if _, err := w.CreateFormFile("archive", about.Name+"-"+about.Version+".tar.gz"); err != nil {
		return err
	}
	before := form.Len()
	if err := w.Close(); err != nil {
		return err
	}
	head, tail := form.Bytes()[:before], form.Bytes()[before:]
	body := io.MultiReader(bytes.NewReader(head), &counted{r: packed, total: packed.Size, of: "uploading", c: c}, bytes.NewReader(tail))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path, body)
	if err != nil {
		return err
	}
	req.ContentLength = int64(form.Len()) + packed.Size
	req.Header.Set("Content-Type", w.FormDataContentType())
	res, err := c.read(req, out)
	if err != nil {
		return err
	}
	out.Status = "unchanged"
	if res.status == http.StatusCreated {
		out.Status = "published"
	}
	return nil
}

// counted tells how far something has been read.
type counted struct {
	r        io.Reader
	n, total int64
	of       string
	c        *Client
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.n += int64(n); r.total > 0 {
		r.c.progress("%s %s, %d%%", r.of, Bytes(r.total), 100*r.n/r.total)
	}
	return n, err
}

// left out of every skill: what belongs to other programs.
var leftOut = map[string]bool{".git": true, ".hg": true, ".svn": true, ".DS_Store": true, "__MACOSX": true}

// readFolder takes the files of a folder and holds them against the rules.
func readFolder(dir string) (files *folder.Folder, report skillmd.Report, err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, report, err
	}
	if !info.IsDir() {
		return nil, report, fmt.Errorf("%s is not a folder", dir)
	}
	if files, err = folder.New(); err != nil {
		return nil, report, err
	}
	look := skillmd.Folder{}
	if err := takeAll(dir, files, &look); err != nil {
		files.Close()
		return nil, report, err
	}
	files.Sort()
	return files, skillmd.Check(look), nil
}

// takeAll goes through os.Root: no link leads out of the folder.
func takeAll(dir string, files *folder.Folder, look *skillmd.Folder) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case leftOut[d.Name()] && d.IsDir():
			return fs.SkipDir
		case leftOut[d.Name()] || d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			look.Skipped = append(look.Skipped, models.SkippedEntry{Path: path, Kind: "symlink"})
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", filepath.Join(dir, path))
		}
		return take(root, path, files, look)
	})
}

func take(root *os.Root, path string, files *folder.Folder, look *skillmd.Folder) error {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := files.Take(path, info.Size(), f); err != nil {
		return err
	}
	look.Paths = append(look.Paths, path)
	if path == skillmd.File {
		look.SkillMD, err = io.ReadAll(io.LimitReader(files.Open(files.Find(path)), skillmd.MaxFile+1))
		if look.SkillMD == nil {
			look.SkillMD = []byte{}
		}
	}
	return err
}

// Place is where an issue is, for a person and their editor: dir/SKILL.md:3.
func Place(dir string, i *models.ValidationIssue) string {
	place := strings.TrimSuffix(dir, "/")
	if i.Path != nil {
		place = filepath.Join(dir, *i.Path)
	}
	if i.Line != nil {
		place += fmt.Sprintf(":%d", *i.Line)
	}
	return place
}
