package apitest

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/archive"
)

// Archive packs files, by their paths, into a tar.gz.
func Archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var list []archive.Source
	for path, content := range files {
		list = append(list, archive.Source{Path: path, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(content)), nil
		}})
	}
	var b bytes.Buffer
	require.NoError(t, archive.Pack(&b, list))
	return b.Bytes()
}

// Part of a form. A file name makes it a file for whoever reads it.
type Part struct {
	Name, File, Type string
	Content          []byte
}

// Form is a body with these parts, and the header that says so.
func Form(t testing.TB, parts ...Part) (http.Header, []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		disposition := map[string]string{"name": p.Name}
		if p.File != "" {
			disposition["filename"] = p.File
		}
		h := textproto.MIMEHeader{"Content-Disposition": {mime.FormatMediaType("form-data", disposition)}}
		if p.Type != "" {
			h["Content-Type"] = []string{p.Type}
		}
		part, err := w.CreatePart(h)
		require.NoError(t, err)
		_, err = part.Write(p.Content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return http.Header{"Content-Type": {w.FormDataContentType()}}, b.Bytes()
}

// Publish sends an archive with its metadata.
func (s *Server) Publish(t testing.TB, who, path, metadata string, packed []byte) Response {
	t.Helper()
	return s.Form(t, who, path, Part{Name: "metadata", Content: []byte(metadata)}, Part{Name: "archive", File: "archive.tar.gz", Content: packed})
}
