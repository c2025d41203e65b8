package loader

import "time"

// A millisecond is enough for a level on a machine that has nothing else to do. Tests share theirs.
func init() { wait = 50 * time.Millisecond }
