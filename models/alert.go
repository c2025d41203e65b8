package models

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// Alert is somebody to be told when a skill breaks a condition.
type Alert struct {
	bun.BaseModel `bun:"table:alerts,alias:t"`

	OrgID           ids.ID       `bun:"org_id,pk"`
	ID              ids.ID       `bun:"id,pk"`
	SkillID         *ids.ID      `bun:"skill_id"`
	Type            AlertType    `bun:"type"`
	Threshold       float64      `bun:"threshold"`
	Channel         AlertChannel `bun:"channel"`
	Destination     JSON         `bun:"config"`
	Secret          *string      `bun:"secret"`
	State           AlertState   `bun:"state"`
	DisabledReason  *string      `bun:"disabled_reason"`
	MutedUntil      *time.Time   `bun:"muted_until"`
	FailedIncidents int          `bun:"failed_incidents"`
	DueAt           time.Time    `bun:"due_at"`
	CreatedByID     *ids.ID      `bun:"created_by"`
	CreatedAt       time.Time    `bun:"created_at"`
	UpdatedAt       time.Time    `bun:"updated_at"`

	// SigningSecret is Secret, in the answer to its creation and nowhere else.
	SigningSecret *string `bun:"-"`
}

// Incident is a skill that breaks an alert's condition.
type Incident struct {
	bun.BaseModel `bun:"table:incidents,alias:t"`

	OrgID      ids.ID     `bun:"org_id,pk"`
	ID         ids.ID     `bun:"id,pk"`
	AlertID    ids.ID     `bun:"alert_id"`
	SkillID    ids.ID     `bun:"skill_id"`
	Value      float64    `bun:"value"`
	OpenedAt   time.Time  `bun:"opened_at"`
	RemindedAt time.Time  `bun:"reminded_at"`
	ResolvedAt *time.Time `bun:"resolved_at"`
}

// Notification is something that somebody is to be told.
type Notification struct {
	bun.BaseModel `bun:"table:notifications,alias:t"`

	OrgID       ids.ID            `bun:"org_id,pk"`
	ID          ids.ID            `bun:"id,pk"`
	AlertID     ids.ID            `bun:"alert_id"`
	IncidentID  ids.ID            `bun:"incident_id"`
	Kind        NotificationKind  `bun:"kind"`
	Value       float64           `bun:"value"`
	State       NotificationState `bun:"state"`
	CreatedAt   time.Time         `bun:"created_at"`
	DeliveredAt *time.Time        `bun:"delivered_at"`
}

// NotificationAttempt is one attempt to deliver it.
type NotificationAttempt struct {
	NotificationID ids.ID    `bun:"notification_id"`
	Number         int       `bun:"number"`
	Status         int       `bun:"status"`
	Message        string    `bun:"message"`
	TriedAt        time.Time `bun:"at"`
}

// DryRunDay is a day on which an alert would have fired.
type DryRunDay struct {
	Date    Date
	SkillID ids.ID
	Value   float64
}

// thresholds are the bounds and the default of each type.
var thresholds = map[AlertType]struct {
	max, otherwise float64
	message        string
}{
	AlertTypePassRateBelow: {1, 0.6, "threshold must be between 0 and 1"},
	AlertTypeNoData:        {90, 7, "threshold must be between 0 and 90 days"},
}

// Limit is the threshold that was given, or the type's own; it names the field when it is out of bounds.
func (e AlertType) Limit(given *float64) (float64, error) {
	t := thresholds[e]
	if given == nil {
		return t.otherwise, nil
	}
	if !(*given >= 0 && *given <= t.max) { // not a number is neither
		return 0, errs.At("threshold").Because("%s", t.message)
	}
	return *given, nil
}

// configFields is the one field that each channel's config holds.
var configFields = map[AlertChannel]string{
	AlertChannelChatA: "chat_a_webhook_url", AlertChannelChatB: "chat_b_webhook_url",
	AlertChannelEmail: "email", AlertChannelWebhook: "webhook_url",
}

// Reach is what is needed to check a destination: the rules of the network and of mail.
type Reach struct {
	CheckURL func(string) error
	CanMail  bool
}

// checkConfig makes sure that a config holds exactly its channel's field, with something usable in it.
func checkConfig(channel AlertChannel, raw JSON, reach Reach) error {
	at, field := errs.At("config"), configFields[channel]
	var config map[string]any
	if json.Unmarshal(raw, &config) != nil || config == nil {
		return at.Because("must be an object")
	}
	for key := range config {
		if key != field {
			return at.At(key).Because("does not belong to the channel %s, whose config has %s alone", channel.Wire(), field)
		}
	}
	value, ok := config[field].(string)
	if !ok {
		return at.At(field).Because("is required, as a string")
	}
	if channel == AlertChannelEmail {
		if !reach.CanMail {
			return at.At(field).Because("this server cannot send e-mail: its operator has to set SKILLGRAPH_SMTP_URL")
		}
		_, err := NormalEmail(at.At(field), value)
		return err
	}
	if err := reach.CheckURL(value); err != nil {
		return at.At(field).Because("%s", err)
	}
	return nil
}

// Address is where the alert tells: a URL or a mailbox.
func (a *Alert) Address() string {
	var config map[string]string
	_ = json.Unmarshal(a.Destination, &config) // it was checked when it was saved
	return config[configFields[a.Channel]]
}

// Config shows where the alert tells; a webhook's path is a secret of its receiver, so of URLs only the host is shown.
func (a *Alert) Config() JSON {
	shown := a.Address()
	if u, err := url.Parse(shown); err == nil && a.Channel != AlertChannelEmail {
		shown = u.Scheme + "://" + u.Host + "/…"
	}
	out, _ := json.Marshal(map[string]string{configFields[a.Channel]: shown})
	return out
}

// Enabled reports whether the alert is evaluated.
func (a *Alert) Enabled() bool { return a.State != AlertStateDisabled }

// Alert makes the alert that the input describes.
func (in CreateAlertInput) Alert(reach Reach) (*Alert, error) {
	limit, err := in.Type.Limit(in.Threshold.Value())
	if err != nil {
		return nil, err
	}
	return &Alert{
		SkillID: in.SkillID.Value(), Type: in.Type, Threshold: limit, Channel: in.Channel, Destination: in.Config, State: AlertStateOk,
	}, checkConfig(in.Channel, in.Config, reach)
}

// Apply makes the change, or names the field that may not change so.
func (in UpdateAlertInput) Apply(a *Alert, reach Reach) (err error) {
	if config, set := in.Config.ValueOK(); set {
		if err := checkConfig(a.Channel, config, reach); err != nil {
			return err
		}
		a.Destination = config
	}
	if given, set := in.Threshold.ValueOK(); set {
		if a.Threshold, err = a.Type.Limit(given); err != nil {
			return err
		}
	}
	if until, set := in.MutedUntil.ValueOK(); set {
		a.MutedUntil = until
	}
	enabled := a.Enabled()
	if err := setOnly(errs.At("enabled"), in.Enabled, &enabled); err != nil {
		return err
	}
	if enabled != a.Enabled() {
		a.State, a.DisabledReason, a.FailedIncidents = AlertStateOk, nil, 0
		if !enabled {
			a.State = AlertStateDisabled
		}
	}
	return nil
}
