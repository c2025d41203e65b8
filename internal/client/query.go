package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// Answer is that of a GraphQL operation, as it came.
type Answer struct {
	Raw    json.RawMessage
	Data   json.RawMessage
	Errors []struct {
		Message    string
		Extensions struct {
			Code string
			Path []string
		}
	}
}

// Err is the first error of the answer.
func (a *Answer) Err() error {
	if len(a.Errors) == 0 {
		return nil
	}
	e := a.Errors[0]
	return &Error{Code: e.Extensions.Code, Message: e.Message, Path: e.Extensions.Path}
}

// Query runs an operation. What the server has against it is in the answer; the error is for when there is none.
func (c *Client) Query(ctx context.Context, document, operation string, variables map[string]any) (*Answer, error) {
	body, err := json.Marshal(map[string]any{"query": document, "operationName": operation, "variables": variables})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.fetch(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, &Error{Code: Unreachable, Message: "the answer broke off: " + err.Error()}
	}
	out := &Answer{Raw: bytes.TrimSpace(raw)}
	if json.Unmarshal(raw, out) != nil || out.Data == nil && out.Errors == nil {
		res.Body = io.NopCloser(bytes.NewReader(raw))
		return nil, refusal(res)
	}
	return out, nil
}

// query runs an operation of ours.
func (c *Client) query(ctx context.Context, document string, variables map[string]any, out any) error {
	a, err := c.Query(ctx, document, "", variables)
	if err != nil {
		return err
	}
	if err := a.Err(); err != nil {
		return err
	}
	return json.Unmarshal(a.Data, out)
}
