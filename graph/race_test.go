//go:build race

package graph_test

import "time"

// within is longer here: the race detector makes everything several times slower.
const within = time.Second
