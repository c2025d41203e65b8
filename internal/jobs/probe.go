package jobs

import (
	_ "github.com/emersion/go-smtp"
	_ "github.com/riverqueue/river"
	_ "github.com/riverqueue/river/riverdriver/riverpgxv5"
	_ "github.com/riverqueue/river/rivermigrate"
	_ "github.com/wneessen/go-mail"
)
