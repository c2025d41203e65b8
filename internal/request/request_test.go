package request_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/request"
)

func TestSetHeader(t *testing.T) {
	t.Parallel()
	request.SetHeader(t.Context(), "X", "nobody sees it")
	h := http.Header{}
	ctx := request.WithHeaders(request.WithID(t.Context(), "7"), h)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { request.SetHeader(ctx, "X-"+strconv.Itoa(i%5), strconv.Itoa(i)) })
	}
	wg.Wait()
	require.Len(t, h, 5)
	require.Equal(t, "7", request.ID(ctx))
	require.Contains(t, request.Hidden(ctx).Message, "7")
}
