package client

import (
	"errors"

	"golang.org/x/sys/unix"
)

// swap exchanges two folders in one step, where the file system can.
func swap(fresh, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return swapSlowly(fresh, path)
	}
	return err
}
