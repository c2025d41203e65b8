// Command skillgraph is the server and the tools of its operator.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"skillgraph/internal/errs"
)

// version is set by the build.
var version = "development"

const usage = `skillgraph tells whether the skills of your agents fire and work.

Usage: skillgraph <command> [flags]

Run a server:
  serve              run the server
  demo               load the demo data, once, and print a key to try it with
  migrate up         bring the database up to date (serve does so, too)
  migrate status     list the migrations

Say who may do what:
  key create         make an API key, with its organization and user where they are missing
  key list           list the API keys
  key revoke ID      revoke an API key, by its id or the beginning that is shown
  org list           list the organizations
  org set-plan NAME PLAN   change the plan of an organization: free, pro, team or enterprise
  hook post-receive  print the hook that tells the server of pushes to a local repository
  repohost grant     let an organization bind an account of the code host, besides the one of its own name

Use a server (--url and --key, or SKILLGRAPH_URL and SKILLGRAPH_KEY):
  publish DIR        check the skill in a folder and publish it as a version
  install NAME[@VERSION]   download a skill into a folder, in one step
  list               list what is published
  versions NAME      list the versions of an entry
  rollback NAME [VERSION]  make another version current: the one before, where none is named
  status [NAME]      tell how skills are doing, and which versions your devices have
  query FILE         run a GraphQL operation from a file (- is standard input) and print the answer

  help               print this
  version            print the version

Every flag can be set in the environment: --data-dir is SKILLGRAPH_DATA_DIR.
"skillgraph <command> -h" lists the flags of a command.

Those that use a server end with 0 when all went well, 1 when it did not or the server refused, 2 for a mistake on the command
line, 3 without permission, 4 when there is no such thing, 5 when something else is in the way, and 6 when the server cannot be
reached or is busy.
`

type command func(ctx context.Context, e env, args []string) error

// env is what a command sees of the world.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(string) (string, bool)
}

var commands = map[string]command{
	"serve": serve, "demo": loadDemo,
	"migrate up": migrateUp, "migrate status": migrateStatus,
	"key create": keyCreate, "key list": keyList, "key revoke": keyRevoke,
	"org list": orgList, "org set-plan": orgSetPlan,
	"hook post-receive": printHook,
	"repohost grant":    repohostGrant,
	"publish":           publish, "install": install, "list": listEntries, "versions": listVersions,
	"rollback": rollback, "status": status, "query": query,
	"version": func(_ context.Context, e env, _ []string) error {
		_, err := fmt.Fprintln(e.stdout, "skillgraph", version)
		return err
	},
	"help": func(_ context.Context, e env, _ []string) error {
		_, err := io.WriteString(e.stdout, usage)
		return err
	},
}

func main() {
	err := run(untilSignal(), env{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv}, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "skillgraph:", oneLine(err))
		os.Exit(exitCode(err))
	}
}

// untilSignal ends with the first signal. The second one ends the program at once, whatever is under way.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx
}

// oneLine is an error for a person, who may have typed the value that is at fault.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	text := strings.Join(slices.Compact(lines), " ")
	var known *errs.Error
	if errors.As(err, &known) && len(known.Path) > 0 {
		text = strings.Join(known.Path, " ") + " " + text
	}
	return text
}

func run(ctx context.Context, e env, args []string) error {
	for n := min(2, len(args)); n > 0; n-- {
		if c, ok := commands[strings.Join(args[:n], " ")]; ok {
			return c(ctx, e, args[n:])
		}
	}
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		return commands["help"](ctx, e, nil)
	}
	return fmt.Errorf("there is no command %q: skillgraph help lists them", strings.Join(args, " "))
}
