package loader

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
)

func keys(n int) []ids.ID {
	out := make([]ids.ID, n)
	for i := range out {
		out[i] = ids.New(ids.Skill, time.Now())
	}
	return out
}

// echo finds every key, and writes down how many it was asked for at once.
type echo struct {
	mu    sync.Mutex
	asked []int
}

func (e *echo) load(_ context.Context, list []ids.ID) (map[ids.ID]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, len(list))
	out := map[ids.ID]string{}
	for _, k := range list {
		out[k] = k.String()
	}
	return out, nil
}

// As long as somebody comes before the time is up, it is one batch; who comes later, or comes again, waits for none.
func TestBatchStaysOpenWhileKeysCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{}
		b := &batcher[string]{load: e.load}
		list := keys(20)
		var wg sync.WaitGroup
		ask := func(k ids.ID) {
			wg.Go(func() {
				got, err := b.get(t.Context(), k)
				require.NoError(t, err)
				require.Equal(t, k.String(), got)
			})
		}
		for _, k := range list {
			ask(k)
			time.Sleep(wait / 2)
		}
		time.Sleep(3 * wait)
		ask(list[0])
		ask(keys(1)[0])
		wg.Wait()
		require.Equal(t, []int{20, 1}, e.asked)
	})
}

func TestBatchCapacity(t *testing.T) {
	t.Parallel()
	e := &echo{}
	b := &batcher[string]{load: e.load}
	list := keys(2*capacity + 1)
	got, err := b.all(t.Context(), list)
	require.NoError(t, err)
	for i, k := range list {
		require.Equal(t, k.String(), got[i])
	}
	require.ElementsMatch(t, []int{capacity, capacity, 1}, e.asked)
}

func TestBatchFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	b := &batcher[string]{load: func(context.Context, []ids.ID) (map[ids.ID]string, error) { return nil, broken }}
	_, err := b.all(t.Context(), keys(2))
	require.ErrorIs(t, err, broken)
	b = &batcher[string]{load: func(context.Context, []ids.ID) (map[ids.ID]string, error) { panic("oh no") }}
	_, err = b.get(t.Context(), keys(1)[0])
	require.ErrorContains(t, err, "oh no")
}

func TestBatchIsNotWaitedForByWhoHasGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	release := make(chan struct{})
	b := &batcher[string]{load: func(context.Context, []ids.ID) (map[ids.ID]string, error) {
		asked.Add(1)
		cancel()
		<-release
		return nil, nil
	}}
	_, err := b.get(ctx, keys(1)[0])
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, asked.Load())
	close(release)
}
