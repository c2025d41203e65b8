package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// TestPanics: the client is told where to look, and nothing else.
func TestPanics(t *testing.T) {
	t.Parallel()
	serve := func(h http.HandlerFunc) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		req.Header.Set("X-Request-Id", "the-request")
		identify(logRequests(prometheus.NewRegistry())(recoverPanics(h))).ServeHTTP(w, req)
		return w
	}
	w := serve(func(http.ResponseWriter, *http.Request) { panic("secret") })
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.JSONEq(t, `{"error": {"message": "Something went wrong on our side. It is in the log under request id the-request", "status": 500, "code": "INTERNAL"}}`, w.Body.String())
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	}, "net/http wants to see that one")
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	_, err := rec.Write([]byte("abc"))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, rec.status)
	require.Equal(t, 3, rec.bytes)
	require.Same(t, w, rec.Unwrap())

	rec = &recorder{ResponseWriter: httptest.NewRecorder(), status: http.StatusOK}
	rec.WriteHeader(http.StatusTeapot)
	rec.WriteHeader(http.StatusOK)
	require.Equal(t, http.StatusTeapot, rec.status, "the first one counts")
}
