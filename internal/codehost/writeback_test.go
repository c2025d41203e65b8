package codehost_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/internal/repohost/apphost"
)

const goodSkill = "---\nname: pdf\ndescription: Fills in forms.\n---\nLook first.\n"

// tellAll lets the organization and the connection write back.
func (w *world) tellAll(t *testing.T) {
	t.Helper()
	require.Equal(t, http.StatusOK, w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/settings", `{"write_back_mode": "checks"}`).Status)
	require.Equal(t, http.StatusOK, w.REST(t, "owner", http.MethodPatch, "/api/v1/repohost/connections/"+w.link, `{"write_back_enabled": true}`).Status)
}

// told is what became of telling the code host of the last attempt.
func (w *world) told(t *testing.T) map[string]any {
	t.Helper()
	data := w.Query(t, "owner", `query($id: ID!) { repoLink(id: $id) { lastAttempt { id writeBackStatus writeBackMessage checkRunId } } }`, map[string]any{"id": w.link})
	return data["repoLink"].(map[string]any)["lastAttempt"].(map[string]any)
}

// From a push to what the code host shows: it is posted once, though the answer to it is lost and it is tried again.
func TestWriteBack(t *testing.T) {
	t.Parallel()
	w, h := newAppWorld(t)
	w.tellAll(t)
	w.run(t)
	hold, lost := make(chan struct{}), atomic.Bool{}
	h.Instead(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/check-runs") && r.Method == http.MethodPost && !lost.Swap(true) {
			<-hold
			h.Serve(nowhere{http.Header{}}, r)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	first := w.commitFiles(t, map[string]string{"SKILL.md": goodSkill, "forms/a.txt": "a"})
	w.tag(t, "v1.0.0", first)
	w.deliverPush(t, "refs/tags/v1.0.0", first)
	w.until(t, "SELECT count(*) FROM publish_attempts WHERE write_back_status = 'PENDING'", 1)
	require.Equal(t, "PENDING", w.told(t)["writeBackStatus"])
	require.Nil(t, w.told(t)["checkRunId"])
	close(hold)
	w.work(t)
	require.Equal(t, []string{"TAG PUBLISHED 1.0.0 SUCCESS: Published 1.0.0"}, w.attempts(t))
	require.Equal(t, "1000", w.told(t)["checkRunId"])
	link := "https://skills.example.com/api/v1/registry/" + w.entry
	context := "skillgraph/publish/" + w.link[:8]
	require.Equal(t, []map[string]string{{"context": context, "state": "success", "description": "Published 1.0.0", "target_url": link}}, h.Statuses())
	runs := h.CheckRuns()
	require.Len(t, runs, 1, "the one whose answer was lost is found and changed")
	require.Equal(t, 1, h.Count("PATCH "))
	summary := runs[0].Output["summary"]
	runs[0].Output = nil
	require.Equal(t, apphost.CheckRun{ID: 1000, Name: context, HeadSHA: first, ExternalID: w.link + "/" + first, Status: "completed", Conclusion: "success", DetailsURL: link}, runs[0])
	require.Equal(t, "Published 1.0.0\n\n| | |\n|---|---|\n| Version | `1.0.0` |\n| Source | `v1.0.0` |\n| Content | `"+w.content(t, "1.0.0")+"` |\n"+
		"| Files | 2: 1 added, 1 changed, 0 removed |\n| Validation | valid |\n| Link | "+link+" |\n", summary)

	// A folder with mistakes is published, and told of.
	second := w.commitFiles(t, map[string]string{"SKILL.md": "---\nname: PDF\nversion: 2\n---\n"})
	w.push(t, "refs/heads/main", second)
	require.Equal(t, "BRANCH PUBLISHED 0.0.0-repohost."+second[:7]+" SUCCESS: Published 0.0.0-repohost."+second[:7], w.attempts(t)[0])
	summary = h.CheckRuns()[1].Output["summary"]
	require.Contains(t, summary, "| Files | 1: 0 added, 1 changed, 1 removed |\n| Validation | 2 errors, 1 warning |\n")
	require.Contains(t, summary, "\n- error in `SKILL.md`, line 2: ")
	require.Contains(t, summary, "\n- warning in `SKILL.md`, line 3: ")

	// What is refused is a failure, and takes the place of what was said of that commit.
	w.tag(t, "v1.0.0", second)
	w.push(t, "refs/tags/v1.0.0", second)
	require.Contains(t, w.attempts(t)[0], "TAG FAILED <nil> SUCCESS: v1.0.0 was published from commit")
	runs = h.CheckRuns()
	require.Len(t, runs, 2)
	require.Equal(t, "failure", runs[1].Conclusion)
	require.Equal(t, "failure", h.Statuses()[2]["state"])
	require.Len(t, h.Statuses(), 3)

	kinds := []any{}
	for _, e := range w.Query(t, "owner", `{ events(first: 100, filter: {kinds: ["connection.attempted", "connection.wrote_back"]}) { nodes { kind } } }`, nil)["events"].(map[string]any)["nodes"].([]any) {
		kinds = append(kinds, e.(map[string]any)["kind"])
	}
	require.Equal(t, []any{"connection.wrote_back", "connection.attempted", "connection.wrote_back", "connection.attempted", "connection.wrote_back", "connection.attempted"}, kinds)
}

// nowhere is where an answer gets lost.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// What the code host does not take in the end has failed; what it cannot take at all is not supported.
func TestWriteBackInVain(t *testing.T) {
	t.Parallel()
	w, h := newAppWorld(t)
	w.tellAll(t)
	sync := func(text string) string {
		w.commit(t, text)
		res := w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/connections/"+w.link+"/sync", "")
		require.Equal(t, "pending", res.JSON(t)["write_back_status"], string(res.Body))
		return w.told(t)["id"].(string)
	}
	write := func(attempt string, last bool) error {
		id, err := ids.Parse(attempt)
		require.NoError(t, err)
		return w.Host.WriteBack(t.Context(), w.Org(), id, last)
	}

	id := sync("one")
	h.Instead(func(rw http.ResponseWriter, _ *http.Request) bool {
		apphost.Fail(rw, http.StatusBadGateway, "")
		return true
	})
	require.Error(t, write(id, false))
	require.Equal(t, "PENDING", w.told(t)["writeBackStatus"])
	require.NoError(t, write(id, true))
	failed := map[string]any{"id": id, "writeBackStatus": "FAILED", "writeBackMessage": "The code host has a problem of its own (status 502)", "checkRunId": nil}
	require.Equal(t, failed, w.told(t))
	h.Instead(nil)
	require.NoError(t, write(id, false))
	require.Equal(t, failed, w.told(t), "what is over is over")
	require.Empty(t, h.CheckRuns())

	for _, tt := range []struct {
		granted map[string]string
		want    string
		run     any
	}{
		{map[string]string{"contents": "read", "metadata": "read"}, "UNSUPPORTED", nil},
		{map[string]string{"contents": "read", "metadata": "read", "statuses": "write"}, "SUCCESS", nil},
		{map[string]string{"contents": "read", "metadata": "read", "checks": "write"}, "SUCCESS", "1000"},
	} {
		id := sync(tt.want)
		h.Installations[7].Granted = tt.granted
		h.Forget()
		require.NoError(t, write(id, false))
		require.Equal(t, tt.want, w.told(t)["writeBackStatus"])
		require.Equal(t, tt.run, w.told(t)["checkRunId"])
		h.Installations[7].Granted = apphost.Everything
	}
	require.Len(t, h.Statuses(), 1)
}
