package registry_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/registry"
	"skillgraph/models"
)

// What is inspected is what was sent, to the last byte, however it comes in and whatever is around the files.
func TestInspect(t *testing.T) {
	t.Parallel()
	plain := packed(t, file{"docs/b.md", "b"}, file{"./SKILL.md", "skill"}, file{"empty", ""}, file{"big.bin", strings.Repeat("0123456789", 20_000)})
	want := []models.FileInfo{
		{Path: "SKILL.md", SHA256: hash([]byte("skill")), Size: 5},
		{Path: "big.bin", SHA256: hash([]byte(strings.Repeat("0123456789", 20_000))), Size: 200_000},
		{Path: "docs/b.md", SHA256: hash([]byte("b")), Size: 1},
		{Path: "empty", SHA256: hash(nil), Size: 0},
	}
	raw := unpacked(t, plain)
	for name, archive := range map[string][]byte{
		"plain":                    plain,
		"more padding":             compressed(t, append(raw, make([]byte, 100<<10)...), nil),
		"no compression":           compressed(t, raw, func(*gzip.Writer) {}),
		"a header with everything": compressed(t, raw, func(w *gzip.Writer) { w.Name, w.Comment, w.Extra, w.ModTime = "name", "comment", []byte("extra"), noon }),
	} {
		for how, r := range map[string]io.Reader{
			"at once": bytes.NewReader(archive), "byte by byte": iotest.OneByteReader(bytes.NewReader(archive)), "in halves": iotest.HalfReader(bytes.NewReader(archive)),
			"with its end": iotest.DataErrReader(bytes.NewReader(archive)),
		} {
			a, err := registry.Inspect(r)
			require.NoError(t, err, "%s, %s", name, how)
			require.Equal(t, models.Archive{Hash: hash(archive), Size: len(archive), Files: want, SkillHash: &want[0].SHA256}, a, "%s, %s", name, how)
		}
	}
}

func unpacked(t *testing.T, archive []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(archive))
	require.NoError(t, err)
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	return raw
}

// compressed packs a tar; change, where not nil, stores it as it is and may say more in the header.
func compressed(t *testing.T, raw []byte, change func(*gzip.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	level := gzip.BestSpeed
	if change != nil {
		level = gzip.NoCompression
	}
	w, err := gzip.NewWriterLevel(&out, level)
	require.NoError(t, err)
	if change != nil {
		change(w)
	}
	_, err = w.Write(raw)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// Only the SKILL.md at the root is the skill's.
func TestInspectWithoutSkill(t *testing.T) {
	t.Parallel()
	a, err := registry.Inspect(bytes.NewReader(packed(t, file{"docs/SKILL.md", "a"}, file{"skill.md", "b"})))
	require.NoError(t, err)
	require.Nil(t, a.SkillHash)
}

// What is refused has no hash, and leaves nothing behind.
func TestRefusedArchives(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	good := skill(t, "good")
	entry := s.entry(t, s.acme, good)
	for name, c := range map[string]struct {
		archive []byte
		code    errs.Code
	}{
		"nothing":              {nil, errs.Invalid},
		"no files":             {packed(t), errs.Invalid},
		"text":                 {[]byte("SKILL.md"), errs.Invalid},
		"cut off":              {good[:len(good)-9], errs.Invalid},
		"cut off by a byte":    {good[:len(good)-1], errs.Invalid},
		"a byte after it":      {append(bytes.Clone(good), 0), errs.Invalid},
		"a newline after it":   {append(bytes.Clone(good), '\n'), errs.Invalid},
		"another after it":     {append(bytes.Clone(good), good...), errs.Invalid},
		"a path that leads up": {packed(t, file{"../SKILL.md", "x"}), errs.Invalid},
		"a link":               {linked(t), errs.Invalid},
		"too much of it":       {compressed(t, make([]byte, 33<<20), nil), errs.TooLarge},
	} {
		for _, publish := range []func() error{
			func() error {
				_, err := s.CreateEntry(t.Context(), s.acme, newEntry("new"), newVersion("1.0.0"), bytes.NewReader(c.archive))
				return err
			},
			func() error {
				_, err := s.PushVersion(t.Context(), s.acme, entry.Entry.ID, newVersion("2.0.0"), bytes.NewReader(c.archive))
				return err
			},
		} {
			e := refusal(t, c.code, publish())
			require.Equal(t, []string{"archive"}, e.Path, "%s: %s", name, e.Message)
		}
	}
	require.Equal(t, []string{hash(good)}, s.blobs(t))
	require.Equal(t, 1, s.count(t, "SELECT count(*) FROM blobs"))
	require.Equal(t, 1, s.count(t, "SELECT count(*) FROM registry_versions"))
	require.Equal(t, 1, s.count(t, "SELECT count(*) FROM skills"))
}

func linked(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "SKILL.md", Linkname: "/etc/passwd"}))
	require.NoError(t, w.Close())
	require.NoError(t, gz.Close())
	return out.Bytes()
}

// A line that breaks is not the client's fault, and not told as if it were.
func TestInspectBrokenLine(t *testing.T) {
	t.Parallel()
	good := skill(t, strings.Repeat("good", 10_000))
	for _, n := range []int{0, 5, 20, len(good) - 1} {
		_, err := registry.Inspect(io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(errBroken)))
		require.ErrorIs(t, err, errBroken)
		require.Equal(t, errs.Internal, errs.CodeOf(err))
	}
}

// What the client says of the archive is compared before anything is kept.
func TestClientsWord(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	archive := skill(t, "good")
	for field, in := range map[string]models.NewVersion{
		"contentHash":  {Version: "1.0.0", ContentHash: new(hash([]byte("other")))},
		"fileManifest": {Version: "1.0.0", FileManifest: models.JSON(`[{"path": "gone", "hash": "x", "size": 1}]`)},
	} {
		_, err := s.CreateEntry(t.Context(), s.acme, newEntry("pdf"), in, bytes.NewReader(archive))
		require.Equal(t, []string{"metadata", field}, refusal(t, errs.Invalid, err).Path[:2])
	}
	require.Empty(t, s.blobs(t))
	in := newVersion("1.0.0")
	in.ContentHash = new("sha256:" + strings.ToUpper(hash(archive)))
	in.FileManifest = models.JSON(fmt.Sprintf(`[{"path": "./SKILL.md", "hash": %q, "size": 4}]`, hash([]byte("good"))))
	out, err := s.CreateEntry(t.Context(), s.acme, newEntry("pdf"), in, bytes.NewReader(archive))
	require.NoError(t, err)
	require.Equal(t, hash(archive), out.Version.ContentHash)
	require.Nil(t, out.Version.ClientTag)
	in.Version, in.ContentHash, in.FileManifest = "1.1.0", new("my tag"), nil
	out, err = s.PushVersion(t.Context(), s.acme, out.Entry.ID, in, bytes.NewReader(archive))
	require.NoError(t, err)
	require.Equal(t, hash(archive), out.Version.ContentHash, "our own hash is kept beside it")
	require.Equal(t, new("my tag"), out.Version.ClientTag)
	require.Equal(t, []string{hash(archive)}, s.blobs(t))
	content, err := s.Blobs.Open(t.Context(), hash(archive))
	require.NoError(t, err)
	defer func() { _ = content.Close() }()
	stored, err := io.ReadAll(content)
	require.NoError(t, err)
	require.Equal(t, archive, stored)
}

// Nobody has to send bytes to be told that there is nowhere to put them, and none of them are kept.
func TestPushNowhere(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	theirs := s.entry(t, s.other, skill(t, "theirs"))
	none := struct{ io.ReadSeeker }{} // panics when it is read
	for _, id := range []ids.ID{ids.New(ids.Entry, noon), theirs.Entry.ID, theirs.Version.ID} {
		_, err := s.PushVersion(t.Context(), s.acme, id, newVersion("2.0.0"), none)
		require.Equal(t, errs.NotFound, errs.CodeOf(err), "%v", err)
	}
	in := newVersion("2.0.0")
	in.Name = new("docx")
	_, err := s.PushVersion(t.Context(), s.other, theirs.Entry.ID, in, none)
	require.Equal(t, errs.Invalid, errs.CodeOf(err), "%v", err)
	require.Len(t, s.blobs(t), 1)
}

// Bytes are stored before the row that names them. Where there is no row in the end, they are collected; where somebody else
// has one, in whatever organization, they stay.
func TestBytesWithoutARow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	own, shared, lost := skill(t, "own"), skill(t, "shared"), skill(t, "lost")
	mine := s.entry(t, s.acme, own)
	theirs := s.entry(t, s.other, shared)
	for _, archive := range [][]byte{lost, shared} {
		_, err := s.CreateEntry(t.Context(), s.acme, newEntry("pdf"), newVersion("1.0.0"), bytes.NewReader(archive))
		require.Equal(t, errs.Conflict, errs.CodeOf(err), "%v", err)
		_, err = s.PushVersion(t.Context(), s.acme, mine.Entry.ID, newVersion("1.0.0"), bytes.NewReader(archive))
		require.Equal(t, errs.Conflict, errs.CodeOf(err), "%v", err)
	}
	require.ElementsMatch(t, []string{hash(own), hash(shared), hash(lost)}, s.blobs(t))
	require.Equal(t, 2, s.count(t, "SELECT count(*) FROM registry_versions"))
	require.Equal(t, 1, s.collect(t))
	require.ElementsMatch(t, []string{hash(own), hash(shared)}, s.blobs(t))
	require.Zero(t, s.collect(t))

	// What is collected can be published again, and what is about to be is not collected.
	s.push(t, s.acme, mine.Entry.ID, "1.1.0", lost)
	require.NoError(t, s.Blobs.Put(t.Context(), hash(skill(t, "begun")), int64(len(skill(t, "begun"))), bytes.NewReader(skill(t, "begun"))))
	s.pass(59 * time.Minute)
	n, err := s.store.CollectBlobs(t.Context(), time.Hour, s.Blobs.Delete)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Len(t, s.blobs(t), 4)

	// With an entry go its bytes, but for those that another one has.
	s.push(t, s.acme, mine.Entry.ID, "1.2.0", shared)
	require.NoError(t, s.acme.DeleteEntry(t.Context(), mine.Entry.ID))
	require.Len(t, s.blobs(t), 4, "not at once")
	require.Equal(t, 3, s.collect(t))
	require.Equal(t, []string{hash(shared)}, s.blobs(t))
	require.Equal(t, 1, s.count(t, "SELECT count(*) FROM blobs"))

	// A revoked version keeps them: what devices have can be looked at.
	_, err = s.other.RevokeVersion(t.Context(), theirs.Version.ID, nil)
	require.NoError(t, err)
	require.Zero(t, s.collect(t))
	require.NoError(t, s.other.DeleteEntry(t.Context(), theirs.Entry.ID))
	require.Equal(t, 1, s.collect(t))
	require.Empty(t, s.blobs(t))
}

// A disk that fails leaves no row behind.
func TestNoBytesNoRow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	archive := skill(t, "good")
	broken := struct {
		io.Reader
		io.Seeker
	}{&twice{first: bytes.NewReader(archive), second: io.MultiReader(bytes.NewReader(archive[:10]), iotest.ErrReader(errBroken))}, seeker{}}
	_, err := s.CreateEntry(t.Context(), s.acme, newEntry("pdf"), newVersion("1.0.0"), broken)
	require.ErrorIs(t, err, errBroken)
	other := struct {
		io.Reader
		io.Seeker
	}{&twice{first: bytes.NewReader(archive), second: bytes.NewReader(skill(t, "evil"))}, seeker{}}
	_, err = s.CreateEntry(t.Context(), s.acme, newEntry("pdf"), newVersion("1.0.0"), other)
	require.Error(t, err, "what is stored must be what was inspected")
	require.Empty(t, s.blobs(t))
	require.Zero(t, s.count(t, "SELECT count(*) FROM registry_entries"))
}

// twice is read to its end once, and then is another.
type twice struct {
	first, second io.Reader
	done          bool
}

func (r *twice) Read(p []byte) (int, error) {
	if r.done {
		return r.second.Read(p)
	}
	n, err := r.first.Read(p)
	r.done = errors.Is(err, io.EOF)
	return n, err
}

type seeker struct{}

func (seeker) Seek(int64, int) (int64, error) { return 0, nil }
