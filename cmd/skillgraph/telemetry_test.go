package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
)

func TestDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"400d": 400 * 24 * time.Hour, "1.5d": 36 * time.Hour, "9600h": 9600 * time.Hour, "36h30m": 36*time.Hour + 30*time.Minute, "0d": 0,
	} {
		var d days
		require.NoError(t, d.Set(text), text)
		require.Equal(t, want, time.Duration(d), text)
		var again days
		require.NoError(t, again.Set(d.String()))
		require.Equal(t, d, again, "%s is read as it is shown", text)
	}
	require.Equal(t, "400d", new(days(400*24*time.Hour)).String())
	for _, text := range []string{"", "d", "400", "tend", "4 d", "1e400d", "1d12h", "-1d", "NaNd", "1e9d"} {
		require.Error(t, new(days).Set(text), text)
	}
}

func TestTelemetryFlags(t *testing.T) {
	t.Parallel()
	fine := telemetryFlags{retention: days(24 * time.Hour), promptText: "drop", alertInterval: time.Second}
	require.NoError(t, fine.validate())
	for message, change := range map[string]func(*telemetryFlags){
		`--prompt-text must be keep or drop, not "maybe"`: func(f *telemetryFlags) { f.promptText = "maybe" },
		"--alert-interval must be at least 1s":            func(f *telemetryFlags) { f.alertInterval = time.Second - 1 },
		"--retention must be at least a day":              func(f *telemetryFlags) { f.retention-- },
	} {
		f := fine
		change(&f)
		require.EqualError(t, f.validate(), message)
	}
}

// A setting that is wrong stops the server before anything is touched, whether a flag or the environment has it.
func TestTelemetrySettingsRefused(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	for _, row := range []struct {
		setting, flag, value string
		because              []string
	}{
		{"SKILLGRAPH_RETENTION", "--retention", "soon", []string{"invalid duration"}},
		{"SKILLGRAPH_RETENTION", "--retention", "12h", []string{"--retention must be at least a day"}},
		{"SKILLGRAPH_PROMPT_TEXT", "--prompt-text", "hide", []string{"--prompt-text must be keep or drop"}},
		{"SKILLGRAPH_ALERT_INTERVAL", "--alert-interval", "1ms", []string{"--alert-interval must be at least 1s"}},
		{"SKILLGRAPH_ALLOW_NETWORKS", "--allow-networks", "10.0.0.1", []string{"--allow-networks", "10.0.0.0/8"}},
		{"SKILLGRAPH_SMTP_URL", "--smtp-url", "ftp://mail", []string{"--smtp-url"}},
	} {
		runWith(t, []string{"SKILLGRAPH_DATA_DIR=" + dir, "SKILLGRAPH_ADDR=127.0.0.1:0"}, "serve", row.flag, row.value).refused(t, row.because...)
		runWith(t, []string{"SKILLGRAPH_DATA_DIR=" + dir, "SKILLGRAPH_ADDR=127.0.0.1:0", row.setting + "=" + row.value}, "serve").refused(t, row.because...)
	}
	require.NoDirExists(t, dir)
}

func TestTelemetrySettings(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--database-url", dbtest.Database(t), "--retention", "30d", "--prompt-text=drop", "--alert-interval", "1s", "--allow-networks", "127.0.0.0/8")
	require.Eventually(t, func() bool {
		_, text := get(t, s.url()+"/metrics", "")
		return strings.Contains(text, `skillgraph_jobs{kind="evaluate_alerts",state="completed"}`) && strings.Contains(text, `skillgraph_jobs{kind="prune",state="completed"}`)
	}, limit, 50*time.Millisecond)
}
