package models

// SkippedEntry is something in a repository that is no file, and so is not in the snapshot.
type SkippedEntry struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // symlink or submodule
}

// MaxSkipped is how many of them are remembered.
const MaxSkipped = 100
