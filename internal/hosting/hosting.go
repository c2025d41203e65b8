// Package hosting brings folders into the house: what is uploaded, and what a code host has. It unpacks them under the rules for
// archives, holds them against the rules for skills, keeps them as blobs, and reads them again.
package hosting

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/internal/archive"
	"skillgraph/internal/blob"
	"skillgraph/internal/errs"
	"skillgraph/internal/folder"
	"skillgraph/internal/ids"
	"skillgraph/internal/repohost"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Hosting is where folders are kept and read from.
type Hosting struct {
	blobs *blob.Store
	repos repohost.Driver
}

// New keeps folders as blobs and reads repositories of a code host.
func New(blobs *blob.Store, repos repohost.Driver) *Hosting { return &Hosting{blobs, repos} }

// Create makes a source. One of a repository must have a repository to read.
func (h *Hosting) Create(ctx context.Context, org store.Org, in models.CreateSourceInput) (*models.CloudSource, error) {
	s, err := in.Source()
	if err != nil {
		return nil, err
	}
	if s.SourceType == models.SourceTypeRepohost {
		i, err := org.RepoInstallation(ctx, *in.InstallationID.Value())
		if err != nil {
			return nil, err
		}
		who, err := reader(i)
		if err != nil {
			return nil, err
		}
		repos, err := h.repos.Repositories(ctx, who)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(repos, func(r repohost.Repository) bool { return r.FullName() == s.RepoFullName }) {
			return nil, errs.At("repoFullName").Because("there is no repository %s that installation %d may read", s.RepoFullName, i.InstallationID)
		}
		s.BoundID = &i.ID
	}
	return org.CreateSource(ctx, s)
}

// reader is who reads with an installation.
func reader(i *models.RepoInstallation) (repohost.Account, error) {
	if i.Suspended {
		return repohost.Account{}, errs.New(errs.Conflict, "Installation %d of %s is suspended", i.InstallationID, i.AccountLogin)
	}
	return repohost.Account{InstallationID: i.InstallationID, Login: i.AccountLogin}, nil
}

// Upload saves what was uploaded as a snapshot, of a new source or of one that is there.
func (h *Hosting) Upload(ctx context.Context, org store.Org, in models.UploadSourceInput) (*store.Saved, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	c := store.Content{SkillID: in.SkillID.Value()}
	if id := in.SourceID.Value(); id != nil { // before the work is done
		s, err := org.Source(ctx, *id)
		if err != nil {
			return nil, err
		}
		if s.SourceType != models.SourceTypeUpload {
			return nil, errs.At("sourceId").Because("is a repohost source: its content comes from its repository")
		}
		c.SourceID = *id
	} else {
		c.Source = in.Source()
	}
	f, err := newFolder()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := takeUpload(f, in); err != nil {
		return nil, err
	}
	return h.save(ctx, org, f, c)
}

// takeUpload takes an archive or files, whichever came. What is refused is told of the field that it came in.
func takeUpload(f *brought, in models.UploadSourceInput) (err error) {
	field := "files"
	if in.File.Value() != nil {
		field, err = "file", takeArchive(f, in.File.Value())
	}
	for _, part := range in.Files.Value() {
		if err == nil {
			err = f.take(part.Path, part.Content.Size, part.Content.File)
		}
	}
	if err == nil {
		err = f.finish()
	}
	if errors.Is(err, errEmpty) {
		err = errs.At().Because("has no files in it")
	}
	return errs.Within(err, field)
}

func takeArchive(f *brought, up *graphql.Upload) error {
	at, ok := up.File.(io.ReaderAt)
	if !ok {
		return errors.New("hosting: an upload that is not on disk")
	}
	return archive.Zip(at, up.Size, f.take)
}

// Sync saves what the repository of a source holds now as a snapshot.
func (h *Hosting) Sync(ctx context.Context, org store.Org, id ids.ID) (*store.Saved, error) {
	s, err := org.Source(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.SourceType != models.SourceTypeRepohost {
		return nil, errs.At("id").Because("is an upload source: it has no repository to read")
	}
	bound, err := org.RepoInstallationsByID(ctx, []ids.ID{*s.BoundID})
	if err != nil {
		return nil, err
	}
	who, err := reader(bound[*s.BoundID])
	if err != nil {
		return nil, err
	}
	f, err := newFolder()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	commit, err := h.read(ctx, who, s, f)
	if err != nil {
		return nil, unreadable(ctx, s, err)
	}
	return h.save(ctx, org, f, store.Content{SourceID: id, SourceRef: &commit})
}

// read takes what is at the head of the source's branch.
func (h *Hosting) read(ctx context.Context, a repohost.Account, s *models.CloudSource, f *brought) (commit string, err error) {
	if commit, err = h.repos.Resolve(ctx, a, s.RepoFullName, s.DefaultBranch); err != nil {
		return "", err
	}
	if f.skipped, err = h.repos.Read(ctx, a, s.RepoFullName, commit, s.SkillPath, f.take); err != nil {
		return "", err
	}
	return commit, f.finish()
}

// unreadable says of a repository what is wrong with it. It is not the caller's input that is at fault, so it is a CONFLICT,
// whatever it was, unless it may be better later.
func unreadable(ctx context.Context, s *models.CloudSource, err error) error {
	var known *errs.Error
	switch {
	case errs.CodeOf(err) == errs.Unavailable:
		return err
	case errors.As(err, &known):
		return errs.New(errs.Conflict, "%s", known.Message)
	case ctx.Err() != nil:
		return err
	case errors.Is(err, errEmpty):
		return errs.New(errs.Conflict, "The folder %q of the repository %s has no files in it", s.SkillPath, s.RepoFullName)
	}
	slog.WarnContext(ctx, "a repository cannot be read", "repository", s.RepoFullName, "error", err)
	return errs.New(errs.Conflict, "The repository %s cannot be read: it is damaged, or not there", s.RepoFullName)
}

// save keeps the folder and makes the snapshot.
func (h *Hosting) save(ctx context.Context, org store.Org, f *brought, c store.Content) (*store.Saved, error) {
	var err error
	if c.Findings, err = f.check(); err != nil {
		return nil, err
	}
	p, err := f.Pack()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := h.blobs.Put(ctx, p.Hash, p.Size, p); err != nil {
		return nil, err
	}
	c.Files, c.BlobHash, c.Skipped = f.rows(), p.Hash, f.skipped
	return org.SaveContent(ctx, c)
}

func (h *Hosting) folders() folder.Reader { return folder.Reader{Blobs: h.blobs} }
