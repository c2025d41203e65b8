package codehost

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"skillgraph/internal/errs"
	"skillgraph/internal/repohost"
	"skillgraph/internal/store"
	"skillgraph/models"
)

const (
	maxWebhook     = 25 << 20
	maxDeliveryKey = 200
)

// Webhook takes what the code host tells. The signature over the very bytes is checked before anything of them is read; the work is done
// by a job.
func Webhook(s *store.Store, secret string, read func(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error), fail func(http.ResponseWriter, *http.Request, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, err := receive(w, r, s, secret, read)
		if err != nil {
			fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(map[string]string{"status": status})
	}
}

func receive(w http.ResponseWriter, r *http.Request, s *store.Store, secret string, read func(http.ResponseWriter, *http.Request, int64) ([]byte, error)) (string, error) {
	if secret == "" {
		return "", errs.New(errs.Unavailable, "The code host's webhook is not set up here: the server needs SKILLGRAPH_REPOHOST_WEBHOOK_SECRET")
	}
	body, err := read(w, r, maxWebhook)
	if err != nil {
		return "", err
	}
	if !repohost.Verify([]byte(secret), body, header(r, "X-Hub-Signature-256", "X-Repohost-Signature-256")) {
		return "", errs.New(errs.Unauthenticated, "The signature does not fit the body: is the secret the same on both sides?")
	}
	event, key := header(r, "X-GitHub-Event", "X-Repohost-Event"), header(r, "X-GitHub-Delivery", "X-Repohost-Delivery")
	if event == "" || key == "" || len(key) > maxDeliveryKey {
		return "", errs.New(errs.Invalid, "The headers X-Repohost-Event and X-Repohost-Delivery (or X-GitHub-…) must be there")
	}
	told, err := repohost.ParseDelivery(event, body)
	if err != nil {
		return "", err
	}
	queue := strings.ToLower(told.RepoFullName)
	if queue == "" {
		queue = "installation " + strconv.FormatInt(told.InstallationID, 10)
	}
	switch event {
	case "push", "installation", "repository":
	default:
		return "ignored", nil // ping, and whatever else a host may send
	}
	isNew, err := s.Receive(r.Context(), models.Received{
		Key: key, Queue: queue, Event: event, Action: told.Action, InstallationID: told.InstallationID, RepoFullName: told.RepoFullName, Ref: told.Ref, Payload: told,
	})
	if err == nil && !isNew {
		return "received before", nil
	}
	return "accepted", err
}

func header(r *http.Request, names ...string) string {
	for _, name := range names {
		if v := r.Header.Get(name); v != "" {
			return v
		}
	}
	return ""
}
