package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
)

// events posts an operation and reads what comes, event by event.
type eventStream struct {
	t   *testing.T
	res *http.Response
	*bufio.Reader
}

func events(t *testing.T, url, key, query string) *eventStream {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": query})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/graphql", strings.NewReader(string(body)))
	require.NoError(t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return &eventStream{t, res, bufio.NewReader(res.Body)}
}

// next is an event with its data; comments are left out. "": there are no more.
func (e *eventStream) next() string {
	e.t.Helper()
	var lines []string
	for {
		line, err := e.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		switch {
		case err != nil:
			return ""
		case line == "" && len(lines) > 0:
			return strings.Join(lines, " ")
		case line != "" && !strings.HasPrefix(line, ":"):
			lines = append(lines, line)
		}
	}
}

const complete = "event: complete data:"

func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	e := events(t, api.URL, api.Keys["owner"], created)
	require.Equal(t, http.StatusOK, e.res.StatusCode)
	require.Equal(t, "text/event-stream", e.res.Header.Get("Content-Type"))
	following(t, api.URL, 1)
	for i := range 3 {
		name := fmt.Sprint("s", i)
		id := suite(t, api, "member", name)
		require.Equal(t, "event: next data: "+wantCreated(id, name), e.next())
	}
	require.NoError(t, e.res.Body.Close())
	following(t, api.URL, 0)

	for query, want := range map[string]string{
		`{ viewer { plan } }`: `event: next data: {"data":{"viewer":{"plan":"TEAM"}}}`,
		`{ zzzzzzzz }`:        `event: next data: {"errors":[{"message":"Cannot query field \"zzzzzzzz\" on type \"Query\".","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`,
		`subscription { events(kinds: ["x"]) { id } }`: `event: next data: {"errors":[{"message":"must be a kind such as suite.created, or all of a noun: suite.*","path":["events"],"locations":[{"line":1,"column":16}],"extensions":{"code":"INVALID","path":["kinds","0"]}}]}`,
	} {
		e := events(t, api.URL, api.Keys["owner"], query)
		require.Equal(t, http.StatusOK, e.res.StatusCode)
		require.Equal(t, want, e.next())
		require.Equal(t, complete, e.next())
		require.Empty(t, e.next())
	}
	require.Equal(t, http.StatusUnauthorized, events(t, api.URL, "none", created).res.StatusCode)

	// A client that would take events, too, has queries answered at once; one that would not is told what a subscription needs.
	both := http.Header{"Accept": {"application/graphql-response+json, application/json, text/event-stream, multipart/mixed"}}
	res := api.Do(t, "owner", http.MethodPost, "/graphql", both, []byte(`{"query": "{ viewer { plan } }"}`))
	require.Equal(t, "application/graphql-response+json; charset=utf-8", res.Header.Get("Content-Type"))
	text := string(api.GraphQL(t, "owner", created, nil).Body)
	require.Contains(t, text, "A subscription needs a websocket")
	require.Contains(t, text, `"code":"INVALID"`)
	res = api.Do(t, "owner", http.MethodGet, "/graphql?query=subscription{events{id}}", nil, nil)
	require.Equal(t, http.StatusMethodNotAllowed, res.Status)
	res = api.Do(t, "owner", http.MethodGet, "/graphql?query=subscription{events(kinds:[%22x%22]){id}}", both, nil)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	res = api.Do(t, "owner", http.MethodGet, "/graphql?query=mutation{deleteSuite(id:%22x%22){deletedId}}", both, nil)
	require.Equal(t, http.StatusMethodNotAllowed, res.Status)
}
