package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"skillgraph/internal/client"
)

func status(ctx context.Context, e env, args []string) error {
	r := newRemote(e, "status")
	var failOn string
	r.StringVar(&failOn, "fail-on", "", "end with 1 when a skill is critical, or warning (default: never)")
	names, err := r.read(args, "[NAME]")
	if err != nil {
		return err
	}
	if failOn != "" && failOn != "critical" && failOn != "warning" {
		return usageError{fmt.Errorf("--fail-on must be critical or warning, not %q", failOn)}
	}
	return r.do(func(c *client.Client) error {
		list, err := c.Status(ctx, names[0])
		if err != nil {
			return err
		}
		if r.json {
			err = r.printJSON(list)
		} else {
			err = r.skills(list)
		}
		if err != nil {
			return err
		}
		return bad(list, failOn)
	})
}

// skills is a line for each skill and, below it, for each device that has another version.
func (r *remote) skills(list []client.Skill) error {
	if len(list) == 0 {
		r.note("no skill was seen yet; next: send telemetry, or skillgraph publish DIR")
		return nil
	}
	var rows [][]string
	for _, s := range list {
		seen := ""
		if s.LastSeenAt != nil {
			seen = s.LastSeenAt.UTC().Format("2006-01-02 15:04")
		}
		var devices []string
		for _, i := range s.Installed {
			devices = append(devices, fmt.Sprintf("%s %s (%s)", i.DeviceID, orNothing(i.Version), strings.ReplaceAll(i.SyncStatus, "_", " ")))
		}
		rows = append(rows, []string{s.Name, s.Status, percent(s.PassRate), strconv.Itoa(s.GradedSessions), percent(s.TriggerRate), strconv.Itoa(s.UniqueSessions), seen, orNothing(s.CurrentVersion), strings.Join(devices, ", ")})
	}
	return r.table("NAME|STATUS|PASS RATE|GRADED|TRIGGER RATE|SESSIONS|LAST SEEN (UTC)|CURRENT|YOUR DEVICES", rows)
}

// bad is an error when a skill is as bad as the caller minds, or worse.
func bad(list []client.Skill, failOn string) error {
	var names []string
	for _, s := range list {
		if failOn != "" && (s.Status == "critical" || s.Status == failOn) {
			names = append(names, s.Name+" is "+s.Status)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return errors.New(strings.Join(names, ", "))
}

// variables is a flag that may be repeated: name=value.
type variables map[string]any

func (v variables) String() string { return "" }

// Set takes a value as JSON or, where it is none, as text; @file is what a file has.
func (v variables) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("must be name=value")
	}
	if path, isFile := strings.CutPrefix(value, "@"); isFile {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		value = strings.TrimSuffix(string(b), "\n")
	}
	v[name] = value
	var parsed any
	dec := json.NewDecoder(strings.NewReader(value))
	dec.UseNumber()
	if dec.Decode(&parsed) == nil && !dec.More() {
		v[name] = parsed
	}
	return nil
}

func query(ctx context.Context, e env, args []string) error {
	r := newRemote(e, "query")
	vars, operation := variables{}, ""
	r.Var(vars, "var", `a variable, name=value: JSON or, where it is none, text; @file reads a file (may be repeated; text that looks like JSON goes into quotes: id='"7"')`)
	r.StringVar(&operation, "operation", "", "which operation to run, where the file has several")
	names, err := r.read(args, "FILE")
	if err != nil {
		return err
	}
	read := func() ([]byte, error) { return os.ReadFile(names[0]) }
	if names[0] == "-" {
		read = func() ([]byte, error) { return io.ReadAll(e.stdin) }
	}
	document, err := read()
	if err != nil {
		return usageError{err}
	}
	return r.do(func(c *client.Client) error {
		answer, err := c.Query(ctx, string(document), operation, vars)
		if err != nil {
			return err
		}
		if err := r.printJSON(answer.Raw); err != nil {
			return err
		}
		return failed(answer)
	})
}

// failed is 1 for whatever is wrong with an operation, but for the key.
func failed(a *client.Answer) error {
	err := a.Err()
	if err == nil || client.CodeOf(err) == "UNAUTHENTICATED" {
		return err
	}
	return errors.New(err.Error())
}
