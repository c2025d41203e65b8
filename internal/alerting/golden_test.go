package alerting

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var (
	morning  = time.Date(2026, 11, 15, 1, 2, 3, 456e6, time.UTC)
	boundary = regexp.MustCompile(`boundary=([0-9a-f]+)`)
)

func notice(kind, form string) Notice {
	n := Notice{
		DeliveryID: "0192f0c0-0000-8000-8000-00000000000d", AlertID: "0192f0c0-0000-8000-8000-00000000000a",
		IncidentID: "0192f0c0-0000-8000-8000-00000000000c", Type: kind, Skill: "pdf", Threshold: 0.75, State: form,
		TriggeredAt: morning, Link: "https://skills.example.com/skills/pdf?range=30d&tab=rate",
	}
	current := 0.42
	switch form {
	case "reminder":
		n.State, n.Reminder = "firing", true
	case "resolved":
		current = 0.8
	case "test":
		n.IncidentID = ""
	}
	if kind == "no_data" {
		n.Threshold, current = 7, map[string]float64{"firing": 8.2381, "reminder": 9.2381, "resolved": 0.1, "test": 2}[form]
		n.DaysWithoutData = &current
	} else {
		n.CurrentPassRate = &current
	}
	return n
}

// Every body as it is sent, in testdata/<channel>.txtar; UPDATE=1 rewrites them.
func TestGolden(t *testing.T) {
	t.Parallel()
	inbox := mailbox(t, sink{})
	var got []byte
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { got, _ = io.ReadAll(r.Body) })
	s := sender(t, MailConfig{URL: "smtp://" + inbox.addr, From: "Skillgraph <alerts@skills.example.com>"})
	for _, channel := range []string{"chat_a", "chat_b", "email", "webhook"} {
		file := "testdata/" + channel + ".txtar"
		now := &txtar.Archive{}
		for _, kind := range []string{"pass_rate_below", "no_data"} {
			for _, form := range []string{"firing", "reminder", "resolved", "test"} {
				res := s.Send(t.Context(), Target{Channel: channel, URL: url, Email: "team@example.com", Secret: "s"}, notice(kind, form))
				require.True(t, res.Delivered, res.Message)
				var body []byte
				if channel == "email" {
					body = []byte(readable(<-inbox.mails))
				} else {
					var out bytes.Buffer
					require.NoError(t, json.Indent(&out, got, "", "  "))
					body = append(out.Bytes(), '\n')
				}
				now.Files = append(now.Files, txtar.File{Name: kind + " " + form, Data: body})
			}
		}
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.MkdirAll("testdata", 0o700))
			require.NoError(t, os.WriteFile(file, txtar.Format(now), 0o600))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), string(txtar.Format(now)))
	}
}

// readable takes out what differs from run to run.
func readable(m mailed) string {
	body := strings.ReplaceAll(m.data, "\r\n", "\n")
	if b := boundary.FindStringSubmatch(body); b != nil {
		body = strings.ReplaceAll(body, b[1], "<boundary>")
	}
	return "from " + m.from + " to " + m.to + "\n" + body
}
