package store_test

import (
	"bytes"
	"io"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// exporting is the part of the table of tenancy that is about whole datasets: the other organization has rows in every one, a
// version of a public entry among them.
var exporting = map[string]func(t *testing.T, o store.Org, f foreign){
	"Export": func(t *testing.T, o store.Org, f foreign) {
		for _, dataset := range store.Datasets() {
			for _, csv := range []bool{false, true} {
				n, err := o.Export(t.Context(), models.Export{Dataset: dataset, CSV: csv}, io.Discard)
				require.NoError(t, err)
				require.Zero(t, n, dataset)
			}
			_, err := o.Export(t.Context(), models.Export{Dataset: dataset, Skill: f.skill.String()}, io.Discard)
			requireCode(t, errs.NotFound, err)
		}
	},
}

func init() { maps.Copy(tenancy, exporting) }

// The same verb finds what is the organization's own: the line above is not empty for another reason.
func TestOwnRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.objects(t, w.acme, w.owner)
	w.reviewed(t, w.acme, &f)
	w.shelved(t, w.acme, "public", models.VisibilityPublic)
	for _, dataset := range store.Datasets() {
		var out bytes.Buffer
		n, err := w.acme.Export(t.Context(), models.Export{Dataset: dataset}, &out)
		require.NoError(t, err)
		require.Positive(t, n, dataset)
		require.Equal(t, int(n), bytes.Count(out.Bytes(), []byte("\n")), dataset)
	}
}
