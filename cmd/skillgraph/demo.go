package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skillgraph/internal/demo"
	"skillgraph/internal/errs"
	"skillgraph/internal/store"
)

// demoKeyFile holds the demo key in clear, so that the next start can show it again. It opens the demo data, nothing else.
const demoKeyFile = "demo-key"

// loadDemo is the command "demo": it loads the demo data unless they are there, and prints a key.
func loadDemo(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "demo")
	f.registerBlobs()
	f.registerRepos()
	if _, err := f.read(args); err != nil {
		return err
	}
	clock := demo.NewClock(time.Now())
	f.store.Clock = clock.Now
	file := filepath.Join(f.dataDir, demoKeyFile)
	return f.withStore(ctx, func(s *store.Store) error {
		key, err := os.ReadFile(file)
		if err == nil {
			_, err = s.Viewer(ctx, strings.TrimSpace(string(key)))
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrNotExist) || errs.CodeOf(err) == errs.Unauthenticated:
			blobs, err := f.openBlobs(ctx, s)
			if err != nil {
				return err
			}
			defer blobs.Close()
			made, err := demo.Load(ctx, s, blobs, f.reposRoot(), clock)
			if err != nil {
				return err
			}
			key = []byte(made + "\n")
			if err := os.MkdirAll(f.dataDir, 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(file, key, 0o600); err != nil {
				return err
			}
		default:
			return err
		}
		_, err = fmt.Fprintln(e.stdout, strings.TrimSpace(string(key)))
		return err
	})
}
