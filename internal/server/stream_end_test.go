package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"skillgraph/graph"
	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/live"
	"skillgraph/internal/server"
	"skillgraph/models"
)

// A stream outlives the time limits of requests.
func TestStreamsOutliveRequests(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	web := httptest.NewUnstartedServer(api.Handler)
	web.Config.ReadTimeout, web.Config.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
	web.Start()
	t.Cleanup(web.Close)
	e, c := events(t, web.URL, api.Keys["owner"], created), connect(t, web.URL, api.Keys["owner"])
	c.subscribe("1", created)
	following(t, api.URL, 2)
	time.Sleep(time.Second) // longer than a request has
	id := suite(t, api, "member", "late")
	require.Equal(t, "event: next data: "+wantCreated(id, "late"), e.next())
	require.Contains(t, c.hear(), id)
}

// TestRevoked: a key that is revoked or runs out ends its streams within 5 seconds, and says so; one that may do less loses what it may
// not have any more.
func TestRevoked(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	key, v := dbtest.Key(t, api.Store, "acme", "late@example.com", models.PlanTeam, models.RoleAdmin)
	c, e, idle := connect(t, api.URL, key), events(t, api.URL, key, created), connect(t, api.URL, key)
	c.subscribe("1", created)
	lesser := connect(t, api.URL, api.Keys["admin"])
	lesser.subscribe("keys", `subscription { events(kinds: ["alert.*"]) { object { ... on Organization { apiKeys { nodes { id } } } } } }`)
	lesser.subscribe("fine", created)
	following(t, api.URL, 4)

	start := time.Now()
	_, err := api.Org().RevokeKey(t.Context(), v.KeyID)
	require.NoError(t, err)
	_, err = api.Org().ChangeMemberRole(t.Context(), api.Viewers["admin"].UserID, models.RoleViewer)
	require.NoError(t, err)
	text := c.hear()
	require.Contains(t, text, `"type":"error"`)
	require.Contains(t, text, `"code":"UNAUTHENTICATED"`)
	require.Equal(t, "4401 This API key is not valid: it is unknown, expired or revoked", c.closed())
	require.Contains(t, e.next(), `event: next data: {"errors":[{"message":"This API key is not valid: it is unknown, expired or revoked","extensions":{"code":"UNAUTHENTICATED"}}]}`)
	require.Equal(t, complete, e.next())
	require.Empty(t, e.next())
	text = lesser.hear()
	require.Contains(t, text, `"id":"keys","type":"error"`)
	require.Contains(t, text, `"code":"FORBIDDEN"`)
	require.Less(t, time.Since(start), 5*time.Second)

	id := suite(t, api, "member", "s")
	require.Contains(t, lesser.hear(), id, "what it may still have goes on")
	idle.subscribe("1", created)
	require.Contains(t, idle.closed(), "4401 ")
}

// narrow is a network that holds little of what a client does not read.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(4096)
	}
	return c, err
}

// Who does not read is dropped, and nobody else waits.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	srv, err := server.New(server.Config{Store: api.Store, Live: live.Limits{Buffer: 4}, Streams: graph.StreamLimits{Write: limit}})
	require.NoError(t, err)
	web := httptest.NewUnstartedServer(srv)
	web.Listener = narrow{web.Listener}
	web.Start()
	t.Cleanup(web.Close)
	var large strings.Builder
	for i := range 50 {
		fmt.Fprintf(&large, `{"case_kind":"trigger_query","query":"%d %s","expectation":"should_trigger"},`, i, strings.Repeat("x", 4000))
	}
	quick := connect(t, web.URL, api.Keys["owner"])
	quick.subscribe("1", `subscription { events { id } }`)
	slow := dial(t, web.URL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(4096)
		}
		return c, err
	}}}})
	slow.say(`{"type":"connection_init","payload":{"Authorization":"Bearer ` + api.Keys["owner"] + `"}}`)
	require.JSONEq(t, `{"type":"connection_ack"}`, slow.hear())
	slow.subscribe("1", `subscription { events { id object { ... on EvalSuite { casesJson } } } }`)
	following(t, web.URL, 2)
	dropped := false
	for i := 0; i < 100 && !dropped; i++ {
		_, err := api.Org().CreateSuite(t.Context(), models.CreateSuiteInput{
			Name: "s", SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge, CasesJSON: models.JSON("[" + strings.TrimSuffix(large.String(), ",") + "]"),
		})
		require.NoError(t, err)
		require.Contains(t, quick.hear(), `"type":"next"`)
		res, err := http.Get(web.URL + "/metrics")
		require.NoError(t, err)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			dropped = dropped || lines.Text() == "skillgraph_streams_dropped_total 1"
		}
		require.NoError(t, res.Body.Close())
	}
	require.True(t, dropped)
	// It wakes up, reads what was on its way, and hears where to go on.
	last := ""
	for {
		var m struct {
			Type    string
			Payload json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(slow.hear()), &m))
		if m.Type == "error" {
			require.Contains(t, string(m.Payload), `"message":"too slow: resume with after: `+last+`"`)
			require.Contains(t, string(m.Payload), `"code":"TOO_SLOW"`)
			break
		}
		var next struct {
			Data struct{ Events struct{ ID string } }
		}
		require.NoError(t, json.Unmarshal(m.Payload, &next))
		last = next.Data.Events.ID
	}
	require.Equal(t, "1013 too slow: resume with after: "+last, slow.closed())
}

func TestEndStreams(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	srv, web := another(t, api, server.Config{})
	c, idle, e := connect(t, web.URL, api.Keys["owner"]), connect(t, web.URL, api.Keys["owner"]), events(t, web.URL, api.Keys["owner"], created)
	c.subscribe("1", created)
	following(t, web.URL, 2)
	done := make(chan struct{})
	go func() {
		srv.EndStreams(t.Context())
		close(done)
	}()
	require.Equal(t, "1001 the server is stopping; connect again", c.closed())
	require.Equal(t, "1001 the server is stopping; connect again", idle.closed())
	require.Contains(t, e.next(), `"code":"UNAVAILABLE"`)
	require.Equal(t, complete, e.next())
	require.Empty(t, e.next())
	<-done
	require.Equal(t, "1001 the server is stopping; connect again", dial(t, web.URL, nil).closed())
	following(t, web.URL, 0)
}
