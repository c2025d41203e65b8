//go:build !race

package graph_test

import "time"

// within is how long the server may think about a query that is meant to hurt.
const within = 100 * time.Millisecond
