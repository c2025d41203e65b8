package postgres

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// tryLock locks a file, which it makes when it is missing. It returns nil when another holder is in the way.
func tryLock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}

// unlock frees the lock for good: closing alone would not, while a process that is just being forked has a copy.
func unlock(f *os.File) {
	if f != nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		_ = f.Close()
	}
}

// poll calls try until it is done or fails. When that takes too long, it returns the error that late makes.
func poll(ctx context.Context, limit time.Duration, try func() (done bool, err error), late func() error) error {
	timeout := time.After(limit)
	for {
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout:
			return late()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
