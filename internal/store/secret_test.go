package store_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/store"
)

func TestSecretIsTheSameForAllReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replicas := []*store.Store{w.Store, dbtest.Open(t, w.url, store.Options{MaxConns: 2})}
	got := make([][]byte, 20)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = replicas[i%2].Secret(t.Context(), "links") })
	}
	wg.Wait()
	for _, secret := range got {
		require.Equal(t, got[0], secret)
	}
	require.Len(t, got[0], store.SecretLength)
	other, err := w.Secret(t.Context(), "contributors")
	require.NoError(t, err)
	require.NotEqual(t, got[0], other)
}
