package client

import "os"

// swapSlowly exchanges two folders in two steps, and undoes the first when the second fails. What was there goes beside fresh,
// which is removed with all around it.
func swapSlowly(fresh, path string) error {
	old := fresh + ".old"
	if err := os.Rename(path, old); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		_ = os.Rename(old, path)
		return err
	}
	return nil
}
