package rest_test

import (
	"testing"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestGolden(t *testing.T) {
	t.Parallel()
	apitest.Golden(t)
}
