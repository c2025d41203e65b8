//go:build !linux

package client

func swap(fresh, path string) error { return swapSlowly(fresh, path) }
