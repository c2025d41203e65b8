package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"

	"skillgraph/internal/client"
)

// exit codes, which scripts rely on. Commands of the operator end with 1 for every mistake.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitForbidden   = 3
	exitNotFound    = 4
	exitConflict    = 5
	exitUnreachable = 6
)

// usageError is a mistake on the command line of a client's command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func exitCode(err error) int {
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	switch client.CodeOf(err) {
	case "UNAUTHENTICATED", "FORBIDDEN", "PLAN_REQUIRED":
		return exitForbidden
	case "NOT_FOUND":
		return exitNotFound
	case "CONFLICT", "STALE":
		return exitConflict
	case client.Unreachable, "UNAVAILABLE", "TIMEOUT", "RATE_LIMITED":
		return exitUnreachable
	}
	return exitFailed
}

// next tells a person what to do about an error of a client's command.
func next(err error) error {
	hint := map[string]string{
		"UNAUTHENTICATED":  "; check --key or SKILLGRAPH_KEY",
		"FORBIDDEN":        "; ask an owner of your organization for a key that may",
		client.Unreachable: "; is it running? Its address is --url or SKILLGRAPH_URL",
	}[client.CodeOf(err)]
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w%s", err, hint)
}

// remote is what the commands have in common that use a server.
type remote struct {
	*flags
	url, key string
	json     bool
}

func newRemote(e env, name string) *remote {
	r := &remote{flags: bareFlags(e, name)}
	r.StringVar(&r.url, "url", "http://127.0.0.1:8080", "address of the server")
	r.StringVar(&r.key, "key", "", "API key")
	r.BoolVar(&r.json, "json", false, "print JSON")
	return r
}

// read parses the command line; whatever is wrong with it is a usageError.
func (r *remote) read(args []string, names ...string) ([]string, error) {
	positional, err := r.flags.read(args, names...)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, usageError{err}
	case r.key == "":
		return nil, usageError{errors.New("an API key is needed: give --key or set SKILLGRAPH_KEY (skillgraph key create makes one)")}
	}
	at, err := url.Parse(r.url)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, usageError{fmt.Errorf("--url must be the address of a server, such as http://127.0.0.1:8080, not %q", r.url)}
	}
	return positional, nil
}

// client speaks to the server. On a terminal it shows how far it has come.
func (r *remote) client() *client.Client {
	c := &client.Client{URL: strings.TrimSuffix(r.url, "/"), Key: r.key}
	if isTerminal(r.env.stderr) {
		c.Progress = func(text string) { _, _ = fmt.Fprint(r.env.stderr, "\r\x1b[K"+text) }
	}
	return c
}

// do runs what a command is about, and wipes the progress away.
func (r *remote) do(what func(c *client.Client) error) error {
	c := r.client()
	err := what(c)
	if c.Progress != nil {
		c.Progress("")
	}
	return next(err)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// note is for a person who watches; standard output is for the result.
func (r *remote) note(format string, args ...any) {
	_, _ = fmt.Fprintf(r.env.stderr, format+"\n", args...)
}

func (r *remote) printJSON(v any) error {
	enc := json.NewEncoder(r.env.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table prints rows under a title, in columns.
func (r *remote) table(title string, rows [][]string) error {
	w := tabwriter.NewWriter(r.env.stdout, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{strings.Split(title, "|")}, rows...) {
		for i, cell := range row {
			row[i] = clean(cell)
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t "))
	}
	return w.Flush()
}

const maxCell = 60

// clean keeps what others have written from breaking the table, or the terminal.
func clean(cell string) string {
	cell = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case unicode.IsControl(c) || unicode.Is(unicode.Cf, c):
			return -1
		}
		return c
	}, cell)
	if runes := []rune(cell); len(runes) > maxCell {
		cell = string(runes[:maxCell-1]) + "…"
	}
	if cell == "" {
		return "-"
	}
	return cell
}

func percent(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100**v)
}

func orNothing(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func rollback(ctx context.Context, e env, args []string) error {
	r := newRemote(e, "rollback")
	var reason string
	r.StringVar(&reason, "reason", "", "why, for the history")
	names, err := r.read(args, "NAME", "[VERSION]")
	if err != nil {
		return err
	}
	return r.do(func(c *client.Client) error {
		out, err := c.Rollback(ctx, names[0], names[1], reason)
		if err != nil {
			return err
		}
		if r.json {
			return r.printJSON(out)
		}
		_, err = fmt.Fprintf(e.stdout, "%s %s is current\n", out.Entry.Name, out.Version.Version)
		return err
	})
}
