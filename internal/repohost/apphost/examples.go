package apphost

import (
	"encoding/json"
	"os"
	"testing"
)

// Examples are payloads that a real host has sent, by event. They come with the development packages of web.
func Examples(t testing.TB) map[string][]json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("../../web/node_modules/@octokit/webhooks-examples/api.github.com/index.json")
	if os.IsNotExist(err) && os.Getenv("CI") == "" { //nolint:forbidigo // only a machine must have them
		t.Skip("make web/node_modules installs the examples")
	}
	var events []struct {
		Name     string
		Examples []json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(text, &events)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]json.RawMessage{}
	for _, e := range events {
		out[e.Name] = e.Examples
	}
	return out
}
