package store_test

import (
	"testing"

	"skillgraph/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
