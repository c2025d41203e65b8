package alerting

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// wireTime is how times look in every JSON we send.
const wireTime = "2006-01-02T15:04:05.000Z"

// payload is the body of a webhook. Receivers rely on it: fields are only ever added.
type payload struct {
	Type            string   `json:"type"`
	Skill           string   `json:"skill"`
	Threshold       float64  `json:"threshold"`
	CurrentPassRate *float64 `json:"current_pass_rate"`
	TriggeredAt     string   `json:"triggered_at"`
	AlertID         string   `json:"alert_id"`
	IncidentID      *string  `json:"incident_id"`
	State           string   `json:"state"`
	DaysWithoutData *float64 `json:"days_without_data"`
}

func webhook(n Notice) payload {
	p := payload{
		Type: n.Type, Skill: n.Skill, Threshold: n.Threshold, CurrentPassRate: n.CurrentPassRate,
		TriggeredAt: n.TriggeredAt.UTC().Format(wireTime), AlertID: n.AlertID, State: n.State, DaysWithoutData: n.DaysWithoutData,
	}
	if n.IncidentID != "" {
		p.IncidentID = &n.IncidentID
	}
	return p
}

// sign makes the header Skillgraph-Signature. The time is signed too, so that an old message cannot be sent again.
func sign(secret string, body []byte, at time.Time) string {
	t := strconv.FormatInt(at.Unix(), 10)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac(secret, t, body))
}

func mac(secret, t string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(t + "."))
	h.Write(body)
	return h.Sum(nil)
}

// Verify is what a receiver does with the header Skillgraph-Signature and the body as it came: nil means that the
// holder of the secret wrote it, at most tolerance away from now.
func Verify(secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	var t string
	var signatures [][]byte
	for part := range strings.SplitSeq(header, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch key {
		case "t":
			t = value
		case "v1":
			if s, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, s)
			}
		}
	}
	at, err := strconv.ParseInt(t, 10, 64)
	if err != nil || len(signatures) == 0 {
		return errors.New("the signature must look like t=<unix time>,v1=<hex>")
	}
	want, matches := mac(secret, t, body), false
	for _, s := range signatures {
		matches = matches || hmac.Equal(s, want)
	}
	if !matches {
		return errors.New("the signature does not match")
	}
	if now.Sub(time.Unix(at, 0)).Abs() > tolerance {
		return errors.New("the signature is too old or from the future")
	}
	return nil
}
