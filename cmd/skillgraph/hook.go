package main

import (
	"context"
	_ "embed" // the script
	"io"
)

//go:embed post-receive.sh
var postReceive string

// printHook prints the hook that tells a server of pushes to a local repository.
func printHook(_ context.Context, e env, args []string) error {
	f := newFlags(e, "hook post-receive")
	if _, err := f.read(args); err != nil {
		return err
	}
	_, err := io.WriteString(e.stdout, postReceive)
	return err
}
