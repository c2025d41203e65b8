package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

// A few megabytes of the shortest records there are would be gigabytes when decoded.
func TestPushOfTinyRecords(t *testing.T) {
	t.Parallel()
	for _, record := range []string{"null", "{}", "0"} {
		canonical := `{"sessions": [` + strings.Repeat(record+",", 1_000_001) + record + `]}`
		_, err := models.PushTelemetryInput{SchemaVersion: "2.0", Canonical: models.JSON(canonical)}.ParsePush()
		require.Equal(t, errs.TooLarge, errs.CodeOf(err))
	}
	// Commas in a prompt are text.
	canonical := `{"prompts": [{"prompt_id": "p", "session_id": "s", "occurred_at": "2026-11-15T00:00:00Z", "prompt_text": "` + strings.Repeat(",", 60_000) + `"}]}`
	_, err := models.PushTelemetryInput{SchemaVersion: "2.0", Canonical: models.JSON(canonical)}.ParsePush()
	require.NoError(t, err)
}
