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
	switch {
	case event == "":
		return "", errs.At("X-GitHub-Event").Because("must be a header of a delivery, or X-Repohost-Event")
	case key == "" || len(key) > maxDeliveryKey:
		return "", errs.At("X-GitHub-Delivery").Because("must be a header of a delivery, or X-Repohost-Delivery, with 1 to %d characters", maxDeliveryKey)
	}
	told, err := repohost.ParseDelivery(event, body)
	if err != nil {
		return "", err
	}
	switch event {
	case "push", "installation", "repository":
	default:
		return "ignored", nil // ping, and whatever else a host may send
	}
	if told.InstallationID == 0 { // a host without apps
		if told.InstallationID, err = s.InstallationOf(r.Context(), told.RepoID, told.RepoFullName); err != nil {
			return "", err
		}
	}
	isNew, err := s.Receive(r.Context(), models.Received{
		Key: key, Queue: queueOf(told), Event: event, Action: told.Action, InstallationID: told.InstallationID, RepoFullName: told.RepoFullName, Ref: told.Ref, Payload: told,
	})
	if err == nil && !isNew {
		return "received before", nil
	}
	return "accepted", err
}

// queueOf is what deliveries wait in, one behind the other: those of a repository, whatever its name, or of an installation.
func queueOf(d repohost.Delivery) string {
	switch {
	case d.RepoID != 0:
		return "repository " + strconv.FormatInt(d.RepoID, 10)
	case d.RepoFullName != "":
		return strings.ToLower(d.RepoFullName)
	}
	return "installation " + strconv.FormatInt(d.InstallationID, 10)
}

func header(r *http.Request, names ...string) string {
	for _, name := range names {
		if v := r.Header.Get(name); v != "" {
			return v
		}
	}
	return ""
}
