package hosting

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

// What may be better later says so; everything else about a repository is a conflict with how it is.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	later := &errs.Error{Code: errs.Unavailable, Message: "The code host takes no more calls", RetryAfter: time.Minute}
	s := &models.CloudSource{RepoFullName: "acme/skills", SkillPath: "pdf"}
	require.Same(t, later, unreadable(t.Context(), s, later))
	for want, err := range map[string]error{
		"A is refused":       errs.At("file").Because("A is refused"),
		"The archive is big": errs.New(errs.TooLarge, "The archive is big"),
		"The folder \"pdf\" of the repository acme/skills has no files in it":    errEmpty,
		"The repository acme/skills cannot be read: it is damaged, or not there": errors.New("zlib: invalid header"),
	} {
		got := unreadable(t.Context(), s, err)
		require.EqualError(t, got, want)
		require.Equal(t, errs.Conflict, errs.CodeOf(got))
	}
}
