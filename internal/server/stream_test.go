package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
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
	"skillgraph/internal/server"
	"skillgraph/internal/store"
	"skillgraph/models"
)

const limit = time.Minute

// another is one more server on the database of a test.
func another(t *testing.T, api *apitest.Server, cfg server.Config) (*server.Server, *httptest.Server) {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = dbtest.Open(t, api.Database, store.Options{MaxConns: 6})
	}
	srv, err := server.New(cfg)
	require.NoError(t, err)
	web := httptest.NewServer(srv)
	t.Cleanup(web.Close)
	return srv, web
}

// client is the other end of a websocket.
type client struct {
	*websocket.Conn
	t *testing.T
}

func dial(t *testing.T, url string, o *websocket.DialOptions) client {
	t.Helper()
	if o == nil {
		o = &websocket.DialOptions{}
	}
	if o.Subprotocols == nil {
		o.Subprotocols = []string{"graphql-transport-ws"}
	}
	c, res, err := websocket.Dial(t.Context(), url+"/graphql", o)
	require.NoError(t, err)
	if res.Body != nil {
		_ = res.Body.Close()
	}
	c.SetReadLimit(10 << 20)
	t.Cleanup(func() { _ = c.CloseNow() })
	return client{c, t}
}

// connect dials and says who it is.
func connect(t *testing.T, url, key string) client {
	t.Helper()
	c := dial(t, url, nil)
	c.say(`{"type":"connection_init","payload":{"Authorization":"Bearer ` + key + `"}}`)
	require.JSONEq(t, `{"type":"connection_ack"}`, c.hear())
	return c
}

func (c client) say(text string) {
	c.t.Helper()
	require.NoError(c.t, c.Write(c.t.Context(), websocket.MessageText, []byte(text)))
}

func (c client) subscribe(id, query string) {
	c.t.Helper()
	payload, err := json.Marshal(map[string]any{"query": query})
	require.NoError(c.t, err)
	c.say(`{"type":"subscribe","id":"` + id + `","payload":` + string(payload) + `}`)
}

func (c client) hear() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	_, data, err := c.Read(ctx)
	require.NoError(c.t, err)
	return string(data)
}

// closed is how the server closes the connection.
func (c client) closed() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	for {
		if _, _, err := c.Read(ctx); err != nil {
			var ce websocket.CloseError
			require.ErrorAs(c.t, err, &ce)
			return fmt.Sprintf("%d %s", ce.Code, ce.Reason)
		}
	}
}

// following waits until the streams of a server are as many as they should be.
func following(t *testing.T, url string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		res, err := http.Get(url + "/metrics")
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if lines.Text() == fmt.Sprintf("skillgraph_streams %d", n) {
				return true
			}
		}
		return false
	}, limit, 2*time.Millisecond)
}

func suite(t *testing.T, s *apitest.Server, who, name string) string {
	t.Helper()
	res := s.REST(t, who, http.MethodPost, "/api/v1/eval-suites", `{"name": "`+name+`", "source_kind": "manual", "verifier_kind": "llm_judge", "cases_json": [{"case_kind": "trigger_query", "query": "q", "expectation": "should_trigger"}]}`)
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	return res.JSON(t)["suite"].(map[string]any)["id"].(string)
}

const created = `subscription { events(kinds: ["suite.*"]) { kind objectId object { ... on EvalSuite { name } } actor { email } } }`

func wantCreated(id, name string) string {
	return `{"data":{"events":{"kind":"suite.created","objectId":"` + id + `","object":{"name":"` + name + `"},"actor":{"email":"member@example.com"}}}}`
}

// Two servers on one database: what is done through one of them is told by both, in the one order, and to nobody else.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	_, second := another(t, api, server.Config{})
	stranger := connect(t, second.URL, api.Keys["stranger"])
	stranger.subscribe("s", `subscription { events { kind } }`)
	var clients []client
	for _, url := range []string{api.URL, second.URL} {
		for _, who := range []string{"owner", "viewer"} {
			c := connect(t, url, api.Keys[who])
			c.subscribe("1", created)
			clients = append(clients, c)
		}
	}
	following(t, api.URL, 2)
	following(t, second.URL, 3)
	for i := range 5 {
		name := fmt.Sprint("suite ", i)
		id := suite(t, api, "member", name)
		for _, c := range clients {
			require.JSONEq(t, `{"id":"1","type":"next","payload":`+wantCreated(id, name)+`}`, c.hear())
		}
	}
	suite(t, api, "stranger", "own")
	require.JSONEq(t, `{"id":"s","type":"next","payload":{"data":{"events":{"kind":"suite.created"}}}}`, stranger.hear(), "the first that a stranger hears")

	// What a client completes is over, and others go on.
	c := clients[0]
	c.subscribe("2", `subscription { skillUpdates { event { kind } } }`)
	following(t, api.URL, 3)
	c.say(`{"type":"complete","id":"1"}`)
	c.say(`{"type":"complete","id":"unknown"}`)
	following(t, api.URL, 2)
	c.subscribe("1", `query { viewer { plan } }`)
	require.JSONEq(t, `{"id":"1","type":"next","payload":{"data":{"viewer":{"plan":"TEAM"}}}}`, c.hear())
	require.JSONEq(t, `{"id":"1","type":"complete"}`, c.hear())
	c.say(`{"type":"ping","payload":{"n":1}}`)
	require.JSONEq(t, `{"type":"pong","payload":{"n":1}}`, c.hear())
	require.NoError(t, c.Close(websocket.StatusNormalClosure, ""))
	following(t, api.URL, 1)
}

// A client that comes back says what it had last, and misses nothing; every typed subscription is the same stream.
func TestResume(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	org := api.Org()
	first := func() string {
		return api.Query(t, "owner", `{ events(first: 1) { nodes { id } } }`, nil)["events"].(map[string]any)["nodes"].([]any)[0].(map[string]any)["id"].(string)
	}
	after := first()
	entry := api.Publish(t, "member", "/api/v1/registry", `{"name": "pdf", "version": "1.0.0"}`, apitest.Archive(t, map[string]string{"SKILL.md": "x"})).JSON(t)
	require.Equal(t, http.StatusCreated, api.REST(t, "owner", http.MethodPost, "/api/v1/alerts", `{"type": "no_data", "channel": "webhook", "config": {"webhook_url": "https://example.com/"}}`).Status)
	source := api.REST(t, "owner", http.MethodPost, "/api/v1/cloud-sources", `{"type": "upload", "label": "x"}`)
	require.Equal(t, http.StatusCreated, source.Status, string(source.Body))
	_, err := org.AddMember(t.Context(), "new@example.com", models.RoleMember)
	require.NoError(t, err)
	c := connect(t, api.URL, api.Keys["owner"])
	data := func(id string) string {
		t.Helper()
		var m struct {
			ID, Type string
			Payload  struct{ Data json.RawMessage }
		}
		text := c.hear()
		require.NoError(t, json.Unmarshal([]byte(text), &m), text)
		require.Equal(t, []string{id, "next"}, []string{m.ID, m.Type})
		return string(m.Payload.Data)
	}
	c.subscribe("registry", `subscription { registryUpdates(after: "`+after+`") { event { kind } entry { name } version { version } } }`)
	require.JSONEq(t, `{"registryUpdates": {"event": {"kind": "version.published"}, "entry": {"name": "pdf"}, "version": {"version": "1.0.0"}}}`, data("registry"))
	c.subscribe("none", `subscription { registryUpdates(after: "`+after+`", entryIds: ["`+api.Orgs["acme"].String()+`"]) { event { kind } } }`)
	c.subscribe("one", `subscription { registryUpdates(after: "`+after+`", entryIds: ["`+entry["entry"].(map[string]any)["id"].(string)+`"]) { event { kind } } }`)
	require.JSONEq(t, `{"registryUpdates": {"event": {"kind": "version.published"}}}`, data("one"))
	c.subscribe("alert", `subscription { alertUpdates(after: "`+after+`") { event { kind } alert { channel } incident { id } } }`)
	require.JSONEq(t, `{"alertUpdates": {"event": {"kind": "alert.created"}, "alert": {"channel": "WEBHOOK"}, "incident": null}}`, data("alert"))
	c.subscribe("sync", `subscription { syncUpdates(after: "`+after+`") { event { kind } source { label } snapshot { id } connection { id } } }`)
	require.JSONEq(t, `{"syncUpdates": {"event": {"kind": "source.created"}, "source": {"label": "x"}, "snapshot": null, "connection": null}}`, data("sync"))
	c.subscribe("suggestions", `subscription { suggestionUpdates { event { kind } source { label } suggestion { query } } }`)
	c.subscribe("skills", `subscription { skillUpdates { event { kind } skill { name } } }`)
	id := suite(t, api, "owner", "s")
	c.subscribe("runs", `subscription { runUpdates(suiteIds: ["`+id+`"]) { event { kind } run { status } } }`)
	following(t, api.URL, 8)
	c.subscribe("all", `subscription { events(after: "`+after+`") { id kind } }`)
	var kinds []string
	for range 5 {
		var m struct {
			Events struct{ ID, Kind string }
		}
		require.NoError(t, json.Unmarshal([]byte(data("all")), &m))
		kinds, after = append(kinds, m.Events.Kind), m.Events.ID
	}
	require.Equal(t, []string{"version.published", "alert.created", "source.created", "member.added", "suite.created"}, kinds)
	require.Equal(t, first(), after)

	for _, bad := range []string{api.Orgs["acme"].String(), "01930000-0000-8000-8000-000000000000"} {
		c.subscribe("bad", `subscription { events(after: "`+bad+`") { id } }`)
		text := c.hear()
		require.Contains(t, text, `"type":"error"`)
		require.Contains(t, text, `"code":"NOT_FOUND","path":["after"]`)
	}
	for query, code := range map[string]string{
		`subscription { events(kinds: ["nonsense"]) { id } }`:                                                                      "INVALID",
		`subscription { nonsense }`:                                                                                                "GRAPHQL_VALIDATION_FAILED",
		`subscription { events { object { ... on Organization { apiKeys { nodes { id } } } } } }`:                                  "",
		`subscription { a: events { id } b: events { id } }`:                                                                       "INVALID",
		`subscription { ... on Subscription { events { id } } ...f } fragment f on Subscription { skillUpdates { event { id } } }`: "GRAPHQL_VALIDATION_FAILED",
		`subscription { events @skip(if: true) { id } }`:                                                                           "INVALID",
		`subscription { events { object { ... on EvalSuite { revisions(first: 100) { nodes { suite { revisions(first: 100) { nodes { suite { name } } } } } } } } } }`: "TOO_COMPLEX",
	} {
		c.subscribe("bad", query)
		if code != "" {
			text := c.hear()
			require.Contains(t, text, `"type":"error"`, query)
			require.Contains(t, text, `"code":"`+code+`"`, query)
		} else {
			following(t, api.URL, 10)
			c.say(`{"type":"complete","id":"bad"}`)
			following(t, api.URL, 9)
		}
	}
	viewer := connect(t, api.URL, api.Keys["viewer"])
	viewer.subscribe("1", `subscription { events { object { ... on Organization { apiKeys { nodes { id } } } } } }`)
	require.Contains(t, viewer.hear(), `"code":"FORBIDDEN"`)
}

// TestSocketProtocol: what is not in the protocol closes the connection, with the code that the protocol has for it.
func TestSocketProtocol(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	_, web := another(t, api, server.Config{Streams: graph.StreamLimits{Init: 200 * time.Millisecond, Operations: 2}})
	key := api.Keys["owner"]
	for name, tt := range map[string]struct {
		say  []string
		want string
	}{
		"nothing":             {nil, "4408 Connection initialisation timeout"},
		"no JSON":             {[]string{"hello"}, "4400 Invalid message received"},
		"no type of ours":     {[]string{`{"type":"start","id":"1"}`}, "4400 Invalid message received"},
		"no id":               {[]string{`{"type":"subscribe","payload":{}}`}, "4400 Invalid message received"},
		"no payload":          {[]string{`{"type":"subscribe","id":"1"}`}, "4400 Invalid message received"},
		"no key":              {[]string{`{"type":"connection_init"}`}, "4401 An API key is needed: send the header Authorization: Bearer <key>"},
		"a wrong key":         {[]string{`{"type":"connection_init","payload":{"Authorization":"Bearer sg_live_` + strings.Repeat("x", 40) + `"}}`}, "4401 This API key is not valid: it is unknown, expired or revoked"},
		"subscribe too early": {[]string{`{"type":"subscribe","id":"1","payload":{"query":"{ viewer { plan } }"}}`}, "4401 Unauthorized: send connection_init first"},
		"who it is, twice":    {[]string{`{"type":"connection_init","payload":{"authorization":"bearer ` + key + `"}}`, `{"type":"connection_init"}`}, "4429 Too many initialisation requests"},
		"the same id once more": {[]string{
			`{"type":"connection_init","payload":{"Authorization":"Bearer ` + key + `"}}`, `{"type":"subscribe","id":"1","payload":{"query":"subscription { events { id } }"}}`,
			`{"type":"subscribe","id":"1","payload":{"query":"subscription { events { id } }"}}`,
		}, "4409 Subscriber for 1 already exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, web.URL, nil)
			for _, text := range tt.say {
				c.say(text)
			}
			require.Equal(t, tt.want, c.closed())
		})
	}
	t.Run("another protocol", func(t *testing.T) {
		t.Parallel()
		require.Contains(t, dial(t, web.URL, &websocket.DialOptions{Subprotocols: []string{"graphql-ws"}}).closed(), "4406 ")
	})
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		c := connect(t, web.URL, key)
		_ = c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping","payload":"`+strings.Repeat("x", 300<<10)+`"}`))
		_, _, err := c.Read(t.Context())
		require.Error(t, err)
	})
	t.Run("a key in the header", func(t *testing.T) {
		t.Parallel()
		c := dial(t, web.URL, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}})
		c.say(`{"type":"connection_init"}`)
		require.JSONEq(t, `{"type":"connection_ack"}`, c.hear())
		time.Sleep(300 * time.Millisecond) // longer than it has to say who it is
		c.say(`{"type":"ping"}`)
		require.JSONEq(t, `{"type":"pong"}`, c.hear())
	})
	t.Run("too many operations", func(t *testing.T) {
		t.Parallel()
		c := connect(t, web.URL, key)
		for _, id := range []string{"1", "2", "3"} {
			c.subscribe(id, `subscription { events { id } }`)
		}
		text := c.hear()
		require.Contains(t, text, `"id":"3","type":"error"`)
		require.Contains(t, text, `"code":"RATE_LIMITED"`)
	})
	t.Run("bad payloads", func(t *testing.T) {
		t.Parallel()
		c := connect(t, web.URL, key)
		for _, payload := range []string{`[]`, `{}`, `{"query":7}`, `{"query":"{ viewer { plan } }","variables":7}`, `"x"`} {
			c.say(`{"type":"subscribe","id":"1","payload":` + payload + `}`)
			require.Contains(t, c.hear(), `"id":"1","type":"error"`, payload)
		}
	})
}

// Pages of our own host may connect, and those that the operator has named.
func TestSocketOrigins(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	for name, tt := range map[string]struct {
		cfg    server.Config
		origin string
		ok     bool
	}{
		"none":         {server.Config{}, "", true},
		"our own":      {server.Config{}, "http://HOST", true},
		"another":      {server.Config{}, "https://evil.example.com", false},
		"listed":       {server.Config{CORSOrigins: []string{"https://app.example.com"}}, "https://app.example.com", true},
		"other scheme": {server.Config{CORSOrigins: []string{"https://app.example.com"}}, "http://app.example.com", false},
		"part of it":   {server.Config{CORSOrigins: []string{"https://app.example.com"}}, "https://app.example.com.evil.example.com", false},
		"everybody":    {server.Config{CORSOrigins: []string{"*"}}, "https://evil.example.com", true},
		"public name":  {server.Config{BaseURL: "https://skills.example.com/x"}, "https://skills.example.com", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Store = api.Store
			_, web := another(t, api, tt.cfg)
			header := http.Header{}
			if tt.origin != "" {
				header.Set("Origin", strings.ReplaceAll(tt.origin, "HOST", strings.TrimPrefix(web.URL, "http://")))
			}
			c, res, err := websocket.Dial(t.Context(), web.URL+"/graphql", &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{"graphql-transport-ws"}})
			require.Equal(t, tt.ok, err == nil, err)
			if tt.ok {
				require.NoError(t, c.CloseNow())
			} else {
				require.Equal(t, http.StatusForbidden, res.StatusCode)
			}
		})
	}
}
