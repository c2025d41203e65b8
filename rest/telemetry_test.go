package rest_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
)

func packed(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// push is a delivery of a number of bytes, most of them in a field that nobody reads.
func push(id, size int) []byte {
	body := fmt.Sprintf(`{"schema_version": "2.0", "push_id": "3b241101-e2bb-4255-8caf-%012d", "canonical": {"sessions": [{"session_id": "s", "note": "`, id)
	const end = `"}]}}`
	return []byte(body + strings.Repeat("x", max(0, size-len(body)-len(end))) + end)
}

func TestPushSizes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	const mib = 1 << 20
	gzipped := http.Header{"Content-Encoding": {"gzip"}}
	for i, c := range []struct {
		body   []byte
		header http.Header
		status int
		says   string
	}{
		{push(1, 0), nil, http.StatusCreated, `"sessions":1`},
		{packed(t, push(2, 0)), gzipped, http.StatusCreated, `"duplicates":1`},
		{push(3, 2*mib), nil, http.StatusCreated, `"duplicates":1`},
		{push(4, 32*mib+1), nil, http.StatusRequestEntityTooLarge, "the limit is 32768 KiB"},
		{packed(t, push(5, 2*mib)), gzipped, http.StatusCreated, `"duplicates":1`},
		{bytes.Repeat(packed(t, bytes.Repeat([]byte(" "), mib)), 65), gzipped, http.StatusRequestEntityTooLarge, "the limit is 65536 KiB"},
		{push(7, 0), gzipped, http.StatusBadRequest, "the body is not gzip"},
		{packed(t, push(8, 0))[:40], gzipped, http.StatusBadRequest, "the body could not be read"},
		{push(9, 0), http.Header{"Content-Encoding": {"br"}}, http.StatusUnsupportedMediaType, "packed with gzip"},
		{packed(t, push(10, 0)), nil, http.StatusBadRequest, "must be a JSON object"},
		{push(11, 0), http.Header{"Content-Type": {"text/plain"}}, http.StatusUnsupportedMediaType, "application/json"},
	} {
		res := s.Do(t, "member", http.MethodPost, "/api/v1/push", c.header, c.body)
		require.Equal(t, c.status, res.Status, "%d: %.300s", i, res.Body)
		require.Contains(t, strings.ReplaceAll(string(res.Body), " ", ""), strings.ReplaceAll(c.says, " ", ""), i)
	}
}
