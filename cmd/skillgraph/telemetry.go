package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"skillgraph/internal/alerting"
	"skillgraph/internal/jobs"
	"skillgraph/internal/outbound"
)

// telemetryFlags say what is kept of telemetry, and how people are told.
type telemetryFlags struct {
	retention                                    days
	promptText, allowNetworks, smtpURL, mailFrom string
	alertInterval                                time.Duration
}

func (t *telemetryFlags) register(f *flags) {
	t.retention = days(400 * 24 * time.Hour)
	f.Var(&t.retention, "retention", "how long raw telemetry is kept, in days (400d) or as a duration (9600h)")
	f.StringVar(&t.promptText, "prompt-text", "keep", "keep or drop the text of prompts")
	f.DurationVar(&t.alertInterval, "alert-interval", 5*time.Minute, "how often alerts are evaluated")
	f.StringVar(&t.allowNetworks, "allow-networks", "", "private networks that webhooks may call, such as 10.1.0.0/16,::1/128 (default: none)")
	f.StringVar(&t.smtpURL, "smtp-url", "", "mail server for e-mail alerts: smtp://user:password@host:25, smtp+starttls:// or smtps:// (default: no e-mail)")
	f.StringVar(&t.mailFrom, "mail-from", "", "sender of e-mail alerts")
}

func (t *telemetryFlags) validate() error {
	switch {
	case t.promptText != "keep" && t.promptText != "drop":
		return fmt.Errorf("--prompt-text must be keep or drop, not %q", t.promptText)
	case t.alertInterval < time.Second:
		return errors.New("--alert-interval must be at least 1s")
	case time.Duration(t.retention) < 24*time.Hour:
		return errors.New("--retention must be at least a day")
	}
	return nil
}

// alerts is what tells people.
func (t *telemetryFlags) alerts(baseURL string) (*jobs.Alerts, error) {
	allow, err := outbound.ParseNetworks(t.allowNetworks)
	if err != nil {
		return nil, fmt.Errorf("--allow-networks: %w", err)
	}
	sender, err := alerting.New(outbound.New(allow), alerting.MailConfig{URL: t.smtpURL, From: t.mailFrom}, time.Now)
	if err != nil {
		return nil, fmt.Errorf("--smtp-url and --mail-from: %w", err)
	}
	return &jobs.Alerts{
		Sender: sender, BaseURL: baseURL, Now: time.Now,
		Check: func(url string) error { return outbound.CheckURL(url, allow) },
	}, nil
}

// days is a duration that may be given in days.
type days time.Duration

func (d *days) String() string {
	return strconv.FormatFloat(time.Duration(*d).Hours()/24, 'f', -1, 64) + "d"
}

// Set reads 400d or 9600h.
func (d *days) Set(s string) error {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		v, err := strconv.ParseFloat(n, 64)
		if err != nil || !(v >= 0 && v <= 36_500) { // not a number is neither
			return errors.New("must be a number of days up to 36500, such as 400d")
		}
		*d = days(v * 24 * float64(time.Hour))
		return nil
	}
	v, err := time.ParseDuration(s)
	*d = days(v)
	return err
}
