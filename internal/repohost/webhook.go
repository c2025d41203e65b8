package repohost

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"skillgraph/internal/errs"
)

// Delivery is what a host tells of its own accord. What the event does not speak of is empty.
type Delivery struct {
	Event, Action            string
	InstallationID, RepoID   int64
	RepoFullName, FormerName string // FormerName: of a repository that has a new one
	Ref                      string // refs/heads/… or refs/tags/…
	Before, After            string // zeros where there was, or is, nothing
	Deleted, Forced, Created bool
	Suspended                *bool // what the installation has become
	InstallationDeleted      bool
	At                       time.Time // when it happened, as the host sees it; zero: it does not say
}

// Verify reports whether a body was signed with the secret: the header is "sha256=" and the HMAC in small hex digits.
func Verify(secret, body []byte, header string) bool {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return len(secret) > 0 && hmac.Equal([]byte(want), []byte(header))
}

// payload is what of a delivery's body is used.
type payload struct {
	Action       string `json:"action"`
	Ref          string `json:"ref"`
	Before       string `json:"before"`
	After        string `json:"after"`
	Created      bool   `json:"created"`
	Deleted      bool   `json:"deleted"`
	Forced       bool   `json:"forced"`
	Installation struct {
		ID        int64  `json:"id"`
		UpdatedAt moment `json:"updated_at"`
	} `json:"installation"`
	Repository struct {
		ID        int64  `json:"id"`
		FullName  string `json:"full_name"`
		PushedAt  moment `json:"pushed_at"`
		UpdatedAt moment `json:"updated_at"`
	} `json:"repository"`
	Changes struct {
		Repository struct {
			Name struct {
				From string `json:"from"`
			} `json:"name"`
		} `json:"repository"`
		Owner struct {
			From struct {
				User         login `json:"user"`
				Organization login `json:"organization"`
			} `json:"from"`
		} `json:"owner"`
	} `json:"changes"`
}

type login struct {
	Login string `json:"login"`
}

// moment is a time that hosts write as text or in seconds, or leave out.
type moment struct{ time.Time }

func (m *moment) UnmarshalJSON(b []byte) error {
	var seconds int64
	if json.Unmarshal(b, &seconds) == nil && seconds > 0 && seconds < 1<<37 { // the year 6325
		m.Time = time.Unix(seconds, 0).UTC()
	} else if json.Unmarshal(b, &m.Time) == nil {
		m.Time = m.UTC()
	}
	return nil // a time is good to have, and no reason to refuse what has happened
}

// ParseDelivery reads the body of a delivery. Of events that are not about pushes, installations or repositories it tells no more
// than the name.
func ParseDelivery(event string, body []byte) (Delivery, error) {
	d := Delivery{Event: event}
	switch event {
	case "push", "installation", "repository":
	default:
		return d, nil
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return d, errs.At("body").Because("must be the JSON of a delivery")
	}
	d.Action, d.InstallationID = p.Action, p.Installation.ID
	d.RepoID, d.RepoFullName = p.Repository.ID, p.Repository.FullName
	switch event {
	case "push":
		d.Ref, d.Before, d.After, d.Forced, d.At = p.Ref, p.Before, p.After, p.Forced, p.Repository.PushedAt.Time
		d.Created, d.Deleted = p.Created || none(p.Before), p.Deleted || none(p.After)
		return d, p.checkPush()
	case "installation":
		d.Suspended = map[string]*bool{"suspend": new(true), "unsuspend": new(false)}[p.Action]
		d.InstallationDeleted, d.At = p.Action == "deleted", p.Installation.UpdatedAt.Time
		if p.Installation.ID <= 0 {
			return d, errs.At("installation", "id").Because("must be a positive number")
		}
		return d, nil
	}
	d.FormerName, d.At = p.formerName(), p.Repository.UpdatedAt.Time
	return d, p.checkRepository()
}

// formerName is that of a repository which was renamed, or has another owner.
func (p payload) formerName() string {
	owner, name, _ := strings.Cut(p.Repository.FullName, "/")
	former := p.Changes.Owner.From.User.Login + p.Changes.Owner.From.Organization.Login
	switch {
	case p.Action == "renamed" && p.Changes.Repository.Name.From != "":
		return owner + "/" + p.Changes.Repository.Name.From
	case p.Action == "transferred" && former != "":
		return former + "/" + name
	}
	return ""
}

func (p payload) checkPush() error {
	switch {
	case !strings.HasPrefix(p.Ref, "refs/"):
		return errs.At("ref").Because("must begin with refs/")
	case !isHash.MatchString(p.Before):
		return errs.At("before").Because("must be a commit")
	case !isHash.MatchString(p.After):
		return errs.At("after").Because("must be a commit")
	}
	return p.checkRepository()
}

func (p payload) checkRepository() error {
	owner, name, _ := strings.Cut(p.Repository.FullName, "/")
	switch {
	case p.Repository.ID < 0: // a local repository has none
		return errs.At("repository", "id").Because("must not be below zero")
	case owner == "" || name == "" || strings.Contains(name, "/"):
		return errs.At("repository", "full_name").Because("must be owner/repo")
	}
	return nil
}

// none reports whether a commit is the one that stands for nothing.
func none(commit string) bool { return commit != "" && strings.Trim(commit, "0") == "" }
