package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
)

// The three settings of the app go together, and what is wrong with them stops the server before anything is touched.
func TestRepohostSettingsRefused(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	key := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(key, []byte("not a key"), 0o600))
	for _, row := range []struct {
		set     []string
		because []string
	}{
		{[]string{"URL=https://code.example.com"}, []string{"--repohost-app-key is missing", "--repohost-url"}},
		{[]string{"URL=https://code.example.com", "APP_ID=1"}, []string{"--repohost-app-key is missing"}},
		{[]string{"URL=https://code.example.com", "APP_KEY=" + key}, []string{"--repohost-app-id is missing"}},
		{[]string{"APP_ID=1", "APP_KEY=" + key}, []string{"--repohost-url is missing"}},
		{[]string{"URL=http://code.example.com", "APP_ID=1", "APP_KEY=" + key}, []string{"--repohost-url must begin with https"}},
		{[]string{"URL=https://127.0.0.1", "APP_ID=1", "APP_KEY=" + key}, []string{"--repohost-url must not point to a private address", "--allow-networks"}},
		{[]string{"URL=https://code.example.com", "APP_ID=1", "APP_KEY=" + key}, []string{"--repohost-app-key " + key + " is not a private key"}},
		{[]string{"URL=https://code.example.com", "APP_ID=1", "APP_KEY=" + key + ".gone"}, []string{"--repohost-app-key", "no such file"}},
	} {
		environment := []string{"SKILLGRAPH_DATA_DIR=" + dir, "SKILLGRAPH_ADDR=127.0.0.1:0"}
		for _, s := range row.set {
			environment = append(environment, "SKILLGRAPH_REPOHOST_"+s)
		}
		runWith(t, environment, "serve").refused(t, row.because...)
	}
	require.NoDirExists(t, dir)
}

// With them the server asks the host whose installation it is.
func TestRepohostSettings(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path
		if strings.Count(r.Header.Get("Authorization"), ".") != 2 {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, `{"id": 7, "account": {"login": "Elsewhere"}}`)
	}))
	defer host.Close()
	secret, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(secret)}), 0o600))

	url := dbtest.Database(t)
	s := startServer(t, "--database-url", url, "--allow-networks", "127.0.0.0/8", "--repohost-url", host.URL, "--repohost-app-id", "1", "--repohost-app-key", key)
	token := strings.TrimSpace(must(t, "key", "create", "--database-url", url, "--org", "acme", "--user", "a@example.com", "--plan", "pro", "--role", "owner"))
	bind := func(login string) (int, string) {
		body := strings.NewReader(`{"installation_id": 7, "account_login": "` + login + `", "account_type": "Organization"}`)
		req, err := http.NewRequest(http.MethodPost, s.url()+"/api/v1/repohost/installations", body)
		require.NoError(t, err)
		req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(text)
	}
	status, text := bind("acme")
	require.Equal(t, http.StatusConflict, status, text)
	require.Contains(t, text, "The code host has no installation 7 of the account acme")
	status, text = bind("elsewhere")
	require.Equal(t, http.StatusCreated, status, "an account of any name, since the host vouches for it: %s", text)
	require.Equal(t, "GET /app/installations/7", <-asked)
}
