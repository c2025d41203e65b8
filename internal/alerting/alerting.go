// Package alerting says what has become of a skill on the channels that people listen to: two chat services, e-mail
// and signed webhooks. When to say it, and how often to try, is the caller's business.
package alerting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"skillgraph/internal/outbound"
)

// Notice is what there is to say.
type Notice struct {
	DeliveryID      string // the same over all tries, so that a receiver can tell a second copy
	AlertID         string
	IncidentID      string // "" in a test
	Type            string // pass_rate_below or no_data
	Skill           string // its name; "" when a test is about no skill in particular
	Threshold       float64
	CurrentPassRate *float64
	DaysWithoutData *float64
	State           string // firing, resolved or test
	Reminder        bool   // it has been said before, and is still so
	TriggeredAt     time.Time
	Link            string // where to read more; may be ""
}

// Target is where to say it.
type Target struct {
	Channel string // chat_a, chat_b, email or webhook
	URL     string // of all but email
	Email   string
	Secret  string // signs webhooks
}

// Result is what came of one try.
type Result struct {
	Status    int    // the receiver's HTTP or SMTP status; 0 where there was none
	Message   string // for the user: holds no URL, no secret and none of the receiver's words
	Delivered bool
}

// Sender sends notices. It is safe for use by many goroutines.
type Sender struct {
	client *outbound.Client
	mailer *mailer // nil: no e-mail
	now    func() time.Time
}

// New makes a sender; without a mail URL it sends no e-mail.
func New(client *outbound.Client, mail MailConfig, now func() time.Time) (*Sender, error) {
	s := &Sender{client: client, now: now}
	if mail.URL == "" {
		return s, nil
	}
	m, err := newMailer(mail, now)
	if err != nil {
		return nil, err
	}
	s.mailer = m
	return s, nil
}

// CanMail reports whether e-mail is set up.
func (s *Sender) CanMail() bool { return s.mailer != nil }

// Send tries once. It takes at most 20 seconds.
func (s *Sender) Send(ctx context.Context, t Target, n Notice) Result {
	var body any
	switch t.Channel {
	case "chat_a":
		body = chatA(n)
	case "chat_b":
		body = chatB(n)
	case "webhook":
		body = webhook(n)
	case "email":
		if s.mailer == nil {
			return Result{Message: "this server is not set up to send e-mail"}
		}
		return s.mailer.send(ctx, t.Email, n)
	default:
		return Result{Message: "the channel is not known"}
	}
	status, err := s.post(ctx, t, n, body)
	switch {
	case err != nil:
		return Result{Message: err.Error()}
	case status/100 == 3:
		return Result{Status: status, Message: fmt.Sprintf("the endpoint answered %d; redirects are not followed", status)}
	}
	return Result{Status: status, Message: fmt.Sprintf("the endpoint answered %d", status), Delivered: status/100 == 2}
}

func (s *Sender) post(ctx context.Context, t Target, n Notice, body any) (int, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return 0, errors.New("the notification could not be written")
	}
	raw := bytes.TrimSpace(out.Bytes())
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Skillgraph-Delivery", n.DeliveryID)
	if t.Channel == "webhook" {
		header.Set("Skillgraph-Signature", sign(t.Secret, raw, s.now()))
	}
	return s.client.Post(ctx, t.URL, header, raw)
}
