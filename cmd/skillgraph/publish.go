package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"skillgraph/internal/client"
)

func publish(ctx context.Context, e env, args []string) error {
	r := newRemote(e, "publish")
	in := client.Publication{}
	r.StringVar(&in.Name, "name", "", "name of the entry (default: the name in SKILL.md)")
	r.StringVar(&in.Version, "version", "", "the version (default: metadata: version: in SKILL.md)")
	r.StringVar(&in.ChangeSummary, "summary", "", "what is new")
	r.StringVar(&in.Visibility, "visibility", "", "who sees a new entry: org, unlisted or public (default: org)")
	r.StringVar(&in.SourceRepo, "repo", "", "the repository a new entry comes from, owner/name")
	r.BoolVar(&in.Force, "force", false, "publish it though it breaks the rules for skills")
	dir, err := r.read(args, "DIR")
	if err != nil {
		return err
	}
	in.Dir = dir[0]
	if info, err := os.Stat(in.Dir); err != nil || !info.IsDir() {
		return usageError{fmt.Errorf("there is no folder %s", in.Dir)}
	}
	return r.do(func(c *client.Client) error {
		out, issues, err := c.Publish(ctx, in)
		if c.Progress != nil {
			c.Progress("")
		}
		for _, i := range issues {
			r.note("%s: %s: %s", client.Place(in.Dir, i), i.Level.Wire(), i.Message)
		}
		if errors.Is(err, client.ErrNoVersion) {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		if r.json {
			return r.printJSON(out)
		}
		return r.published(out)
	})
}

func (r *remote) published(out client.Published) error {
	if out.Status == "unchanged" {
		_, err := fmt.Fprintf(r.env.stdout, "%s %s was published before, with the same content\n", out.Entry.Name, out.Version.Version)
		return err
	}
	_, err := fmt.Fprintf(r.env.stdout, "published %s %s: %s, %s, sha256 %s\n", out.Entry.Name, out.Version.Version, count(out.Files, "file"), client.Bytes(out.Size), out.Version.ContentHash)
	r.note("next: skillgraph install %s", out.Entry.Name)
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func install(ctx context.Context, e env, args []string) error {
	r := newRemote(e, "install")
	in := client.Installation{}
	host, _ := os.Hostname()
	r.StringVar(&in.To, "to", "", "the folder (default: one of the entry's name, here)")
	r.StringVar(&in.Device, "device", host, "what this device is called")
	r.BoolVar(&in.NoRecord, "no-record", false, "do not tell the server what this device has")
	r.BoolVar(&in.Force, "force", false, "replace a folder that is not a skill")
	names, err := r.read(args, "NAME[@VERSION]")
	if err != nil {
		return err
	}
	var versioned bool
	if in.Name, in.Version, versioned = strings.Cut(names[0], "@"); in.Name == "" || versioned && in.Version == "" {
		return usageError{errors.New("name the entry, and the version after an @ if it is not the current one: pdf-forms@1.2.0")}
	}
	if in.Device == "" && !in.NoRecord {
		return usageError{errors.New("what is this device called? Give --device, or --no-record")}
	}
	return r.do(func(c *client.Client) error {
		out, err := c.Install(ctx, in)
		if err != nil {
			return err
		}
		if r.json {
			return r.printJSON(out)
		}
		verb := "installed"
		if out.Replaced {
			verb = "replaced"
		}
		_, err = fmt.Fprintf(e.stdout, "%s %s %s in %s: %s\n", verb, out.Name, out.Version, out.Path, count(out.Files, "file"))
		return err
	})
}

func listEntries(ctx context.Context, e env, args []string) error {
	r := newRemote(e, "list")
	var public bool
	r.BoolVar(&public, "public", false, "list what everybody has published, in place of your organization's own")
	words, err := r.read(args, "[QUERY]")
	if err != nil {
		return err
	}
	if words[0] != "" && !public {
		return usageError{errors.New("to look for words works with --public")}
	}
	return r.do(func(c *client.Client) error {
		read := c.Entries
		if public {
			read = func(ctx context.Context) ([]client.Entry, bool, error) { return c.PublicEntries(ctx, words[0]) }
		}
		list, more, err := read(ctx)
		if err != nil {
			return err
		}
		if more {
			r.note("these are the first %d: there are more", len(list))
		}
		if r.json {
			return r.printJSON(list)
		}
		if len(list) == 0 {
			r.note("nothing is published yet; next: skillgraph publish DIR")
			return nil
		}
		var rows [][]string
		for _, e := range list {
			name, version := e.Name, ""
			if e.Organization != "" {
				name = e.Organization + "/" + name
			}
			if e.CurrentVersion != nil {
				version = e.CurrentVersion.Version
			}
			rows = append(rows, []string{name, version, e.Visibility, percent(e.PassRate), strconv.Itoa(e.EvalCount), strconv.Itoa(e.InstallationCount), e.Description})
		}
		return r.table("NAME|CURRENT|VISIBILITY|PASS RATE|GRADED|DEVICES|DESCRIPTION", rows)
	})
}

func listVersions(ctx context.Context, e env, args []string) error {
	r := newRemote(e, "versions")
	names, err := r.read(args, "NAME")
	if err != nil {
		return err
	}
	return r.do(func(c *client.Client) error {
		_, list, more, err := c.Versions(ctx, names[0])
		if err != nil {
			return err
		}
		if more {
			r.note("these are the newest %d: there are more", len(list))
		}
		if r.json {
			return r.printJSON(list)
		}
		var rows [][]string
		for _, v := range list {
			rows = append(rows, []string{v.Version, state(v), v.PushedAt.UTC().Format("2006-01-02 15:04"), v.Source, percent(v.AggregatePassRate), strconv.Itoa(v.AggregateSessions), v.ContentHash[:min(12, len(v.ContentHash))], orNothing(v.ChangeSummary)})
		}
		return r.table("VERSION|STATE|PUSHED (UTC)|SOURCE|PASS RATE|SESSIONS|SHA256|WHAT IS NEW", rows)
	})
}

func state(v client.Version) string {
	switch {
	case v.IsCurrent:
		return "current"
	case v.RolledBack:
		return "rolled back"
	}
	return ""
}
