package graph

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/internal/errs"
	"skillgraph/internal/live"
	"skillgraph/internal/viewer"
)

// The protocol graphql-transport-ws, and how it closes a connection.
const (
	protocol = "graphql-transport-ws"

	closeGoingAway    = websocket.StatusGoingAway
	closeTryLater     = websocket.StatusTryAgainLater
	closeBadMessage   = websocket.StatusCode(4400)
	closeUnauthorized = websocket.StatusCode(4401)
	closeBadProtocol  = websocket.StatusCode(4406)
	closeInitTimeout  = websocket.StatusCode(4408)
	closeSameID       = websocket.StatusCode(4409)
	closeInitTwice    = websocket.StatusCode(4429)
)

const maxReason = 123 // bytes that a close frame has room for

// IsSocket reports whether a request asks for a websocket. It needs no key yet: a browser can send none before the connection is there.
func IsSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// sockets is the transport for websockets.
type sockets struct {
	*Streams
	origins []string // whose pages may connect, besides our own
}

// Supports takes what asks for a websocket.
func (sockets) Supports(r *http.Request) bool { return IsSocket(r) }

// Do speaks the protocol until either side closes.
func (t sockets) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	options := &websocket.AcceptOptions{Subprotocols: []string{protocol}, OriginPatterns: t.origins}
	for _, o := range t.origins {
		options.InsecureSkipVerify = options.InsecureSkipVerify || o == "*"
	}
	conn, err := websocket.Accept(w, r, options)
	if err != nil {
		return // and the client has been told
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxBody)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &socket{Streams: t.Streams, conn: conn, exec: exec, ctx: ctx, headers: r.Header, operations: map[string]*asked{}}
	if !t.enter(c) {
		c.close(closeGoingAway, live.ErrClosing.Error())
		return
	}
	defer t.leave(c)
	if conn.Subprotocol() != protocol {
		c.close(closeBadProtocol, "Subprotocol not acceptable: this server speaks "+protocol)
		return
	}
	late := time.AfterFunc(t.limits.Init, func() { c.close(closeInitTimeout, "Connection initialisation timeout") })
	defer late.Stop()
	go c.ping()
	for {
		var m message
		_, data, err := conn.Read(ctx)
		if err != nil {
			break
		}
		if json.Unmarshal(data, &m) != nil || !c.take(m, late) {
			c.close(closeBadMessage, "Invalid message received")
			break
		}
	}
	cancel()
	c.running.Wait()
}

func (s *Streams) enter(c *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.sockets[c] = true
	s.open.Add(1)
	return true
}

func (s *Streams) leave(c *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, c)
	s.open.Done()
}

// message is what both sides send.
type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// socket is one connection.
type socket struct {
	*Streams
	conn    *websocket.Conn
	exec    graphql.GraphExecutor
	ctx     context.Context // ends with the connection
	headers http.Header
	key     string // "" until the client has said who it is

	running    sync.WaitGroup
	mu         sync.Mutex
	operations map[string]*asked
}

// take does what a message asks for; false: it is none of the protocol.
func (c *socket) take(m message, late *time.Timer) bool {
	switch {
	case m.Type == "ping":
		_ = c.send(message{Type: "pong", Payload: m.Payload})
	case m.Type == "pong":
	case m.Type == "connection_init" && c.key != "":
		c.close(closeInitTwice, "Too many initialisation requests")
	case m.Type == "connection_init":
		late.Stop()
		c.init(m.Payload)
	case m.Type == "subscribe" && m.ID != "" && len(m.Payload) > 0:
		c.subscribe(m)
	case m.Type == "complete" && m.ID != "":
		c.mu.Lock()
		if op := c.operations[m.ID]; op != nil {
			op.stop()
			delete(c.operations, m.ID)
		}
		c.mu.Unlock()
	default:
		return false
	}
	return true
}

// init takes the key from the payload, or from the request where the client could set a header.
func (c *socket) init(payload json.RawMessage) {
	r := &http.Request{Header: c.headers}
	var given map[string]any
	_ = json.Unmarshal(payload, &given) // it may be anything
	for name, v := range given {
		if text, ok := v.(string); ok && strings.EqualFold(name, "Authorization") {
			r.Header = http.Header{"Authorization": {text}}
		}
	}
	key := viewer.KeyOf(r)
	if _, ok := c.viewer(key); ok {
		c.key = key
		_ = c.send(message{Type: "connection_ack"})
	}
}

// viewer is who holds the key, now. Who is nobody has lost the connection.
func (c *socket) viewer(key string) (context.Context, bool) {
	v, err := c.keys.Viewer(c.ctx, key)
	if err != nil {
		c.end(err)
		return nil, false
	}
	return viewer.With(c.ctx, v), true
}

// end closes the connection where the reason concerns all of it.
func (c *socket) end(err error) {
	code := errs.CodeOf(err)
	switch {
	case code == errs.Unauthenticated:
		c.close(closeUnauthorized, err.Error())
	case code == errs.TooSlow || code == errs.Unavailable:
		c.close(closeTryLater, err.Error())
	case errors.Is(err, live.ErrClosing):
		c.close(closeGoingAway, err.Error())
	}
}

// asked is what a client wants and has not been answered to the end.
type asked struct {
	*socket
	id   string
	stop context.CancelFunc
}

func (c *socket) subscribe(m message) {
	if c.key == "" {
		c.close(closeUnauthorized, "Unauthorized: send connection_init first")
		return
	}
	ctx, ok := c.viewer(c.key)
	if !ok {
		return
	}
	ctx, stop := context.WithCancel(graphql.StartOperationTrace(ctx))
	op := &asked{c, m.ID, stop}
	c.mu.Lock()
	taken, full := c.operations[m.ID] != nil, len(c.operations) >= c.limits.Operations
	if !taken && !full {
		c.operations[m.ID] = op
	}
	c.mu.Unlock()
	switch {
	case taken:
		stop()
		c.close(closeSameID, "Subscriber for "+m.ID+" already exists")
	case full:
		stop()
		op.refuse(told(ctx, c.exec, errs.New(errs.RateLimited, "A connection may have %d operations at once; end one first, or open another connection", c.limits.Operations)))
	default:
		c.running.Go(func() {
			defer stop()
			defer op.done()
			op.run(ctx, m.Payload)
		})
	}
}

// run answers the operation: with next for every answer and complete, or with error.
func (o *asked) run(ctx context.Context, payload json.RawMessage) {
	defer func() {
		if v := recover(); v != nil { // in a resolver it would have been caught there
			o.refuse(told(ctx, o.exec, recovered(ctx, v)))
		}
	}()
	p := &graphql.RawParams{Headers: o.headers, ReadTime: graphql.TraceTiming{Start: graphql.Now()}}
	if err := fromBody(payload, p); err != nil {
		o.refuse(&graphql.Response{Errors: gqlerror.List{withCode(&gqlerror.Error{}, err, err.Path)}})
		return
	}
	p.ReadTime.End = graphql.Now()
	op, list := o.exec.CreateOperationContext(ctx, p)
	if list != nil {
		o.refuse(o.exec.DispatchError(graphql.WithOperationContext(ctx, op), list))
		return
	}
	refused := false
	err := o.Streams.run(ctx, o.exec, op, o.key, func(resp *graphql.Response) error {
		switch {
		case ctx.Err() != nil: // the client has said that it is done
			return context.Canceled
		case resp.Data == nil: // it has not begun
			refused = true
			o.refuse(resp)
			return nil
		}
		return o.send(message{ID: o.id, Type: "next", Payload: encode(resp)})
	})
	switch {
	case refused, o.ctx.Err() != nil:
	case isEnd(err):
		o.refuse(told(context.WithoutCancel(ctx), o.exec, err))
		o.end(err)
	case err == nil:
		o.done()
		_ = o.send(message{ID: o.id, Type: "complete"})
	}
}

// refuse ends the operation with errors.
func (o *asked) refuse(resp *graphql.Response) {
	o.done()
	list, _ := json.Marshal(resp.Errors)
	_ = o.send(message{ID: o.id, Type: "error", Payload: list})
}

// done frees the id, before the client hears that it may use it for another operation.
func (o *asked) done() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.operations[o.id] == o {
		delete(o.operations, o.id)
	}
}

// send writes a message. A client that does not read it in time loses the connection.
func (c *socket) send(m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.limits.Write)
	defer cancel()
	return c.conn.Write(ctx, websocket.MessageText, data)
}

// close says why; the connection ends when the client has answered, or after a few seconds.
func (c *socket) close(code websocket.StatusCode, reason string) {
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	_ = c.conn.Close(code, reason)
}

// ping finds out that a client has gone without saying so.
func (c *socket) ping() {
	tick := time.NewTicker(c.limits.Ping)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(c.ctx, c.limits.Ping)
			err := c.conn.Ping(ctx)
			cancel()
			if err != nil {
				_ = c.conn.CloseNow()
				return
			}
		}
	}
}
