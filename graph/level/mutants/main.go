// Command mutants proves that the differential test can fail: it builds the test with deliberate bugs in the level executor,
// without touching the files, lets one after the other out, and wants the test to notice each. Run it from the root of the
// repository, where a PostgreSQL is to be had: make test/mutants.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mutant is a bug: a piece of text that is in a file once, and what stands there instead. It does what the text does, except
// where BUG is true.
type mutant struct{ name, file, old, bug string }

var mutants = []mutant{
	{"a plan serves any value of a condition", "graph/level/level.go", "if on {", "if on && !BUG {"},
	{"fragments on interfaces are passed over", "graph/level/plan.go", "out = append(out, def.Name)", "if !BUG { out = append(out, def.Name) }"},
	{"all objects of an interface are of one type", "graph/level/run.go", "return o.byType[name], obj", "if BUG { return o.kids[0], obj }; return o.byType[name], obj"},
	{"null where none may be stays there", "graph/level/write.go", "&& o.nonNull {\n\t\t\tok = false", "&& o.nonNull && !BUG {\n\t\t\tok = false"},
	{"null in a list that may have none stays there", "graph/level/write.go", "o.elemNonNull) && o.elemNonNull {", "o.elemNonNull) && o.elemNonNull && !BUG {"},
	{"nobody tells of a null", "graph/level/write.go", "!graphql.HasFieldError(ctx, graphql.GetFieldContext(ctx))", "!BUG && !graphql.HasFieldError(ctx, graphql.GetFieldContext(ctx))"},
	{"what was taken back is told of", "graph/level/write.go", "for len(w.late) > 0 &&", "for !BUG && len(w.late) > 0 &&"},
	{"every object shows the answers of the first", "graph/level/write.go", "w.next[n.id]++", "if !BUG { w.next[n.id]++ }"},
	{"errors are all at the first element", "graph/level/write.go", "w.path[len(w.path)-1].index = i", "if !BUG { w.path[len(w.path)-1].index = i }"},
	{"errors do not tell where in the document", "graph/level/write.go", "w.run.op.Error(ctx, graphql.AddFieldLocationToError(ctx, a.err))", "if BUG { w.run.op.Error(ctx, a.err) } else { w.run.op.Error(ctx, graphql.AddFieldLocationToError(ctx, a.err)) }"},
	{"REST spells enums the GraphQL way", "graph/level/write.go", "REST: face.IsREST(r.ctx),", "REST: face.IsREST(r.ctx) && !BUG,"},
	{"numbers that are none are 0", "graph/level/encode.go", "w.mistaken(errNoNumber)", "if BUG { w.B = append(w.B, '0') } else { w.mistaken(errNoNumber) }"},
	{"quotes are not escaped", "graph/level/encode.go", "b = append(b, '\\\\', c)", "if BUG { b = append(b, c) } else { b = append(b, '\\\\', c) }"},
	{"batches with other arguments are shared", "graph/loader/call.go", "key := loaderKey{e.Name, args}", "key := loaderKey{e.Name, args}; if BUG { key = loaderKey{e.Name, nil} }"},
	{"the error of a batch is lost", "graph/loader/call.go", "return at.found[key], at.err", "if BUG { return at.found[key], nil }; return at.found[key], at.err"},
	{"keys beyond the first are forgotten", "graph/loader/call.go", "b.open.keys = append(b.open.keys, key)", "if !BUG || len(b.open.keys) == 0 { b.open.keys = append(b.open.keys, key) }"},
	{"every key is read on its own", "graph/loader/call.go", "if b.open == nil ||", "if BUG || b.open == nil ||"},
	{"edges found at once lead nowhere", "graph/level/run.go", "if !g.op.deep {", "if !g.op.deep || BUG && g.op.edge != \"\" {"},
	{"what a call has panicked with is lost", "graph/level/write.go", "w.fail(o, p.error)", "if !BUG { w.fail(o, p.error) }"},
	{"only the first column that is shown is read", "graph/level/prune.go", "case o.Column != \"\":", "case BUG && o.Column != \"\" && len(columns.Names) > 0:\n\t\tcase o.Column != \"\":"},
	{"what is computed needs no columns", "graph/level/prune.go", "case row:\n\t\t\treturn false", "case row && !BUG:\n\t\t\treturn false"},
	{"an edge shows everywhere what it shows first", "graph/level/prune.go", "maps.Copy(all.Names, o.shown.Names)", "if !BUG { maps.Copy(all.Names, o.shown.Names) }"},
	{"rows lack what edges are followed by", "graph/level/prune.go", "columns.Edges = true", "columns.Edges = !BUG"},
	{"nobody asks whether there is more", "graph/level/prune.go", "columns.More = true", "columns.More = !BUG"},
	{"only who asks first is told whether there is more", "graph/level/prune.go", "all.More || o.shown.More", "all.More || !BUG && o.shown.More"},
	{"who computes gets what others show", "graph/loader/call.go", "b.shown != nil && b.shown != shown {", "b.shown != nil && b.shown != shown && !BUG {"},
}

// number is the variable that says which bug is out, from 1; 0 is none.
const number = "SKILLGRAPH_MUTANT"

// nest is added to the packages that have bugs.
const nest = `package %s

import (
	"os"
	"strconv"
)

var out, _ = strconv.Atoi(os.Getenv("` + number + `"))

func mutant(n int) bool { return n == out }
`

func main() {
	log.SetFlags(0)
	if err := try(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func try(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	test, err := build(ctx, dir)
	if err != nil {
		return err
	}
	if out, failed := run(ctx, test, 0); failed {
		return fmt.Errorf("the test fails without a bug: %s", out)
	}
	survived := 0
	for i, m := range mutants {
		how := "caught"
		if _, failed := run(ctx, test, i+1); !failed {
			how = "SURVIVED"
			survived++
		}
		fmt.Printf("%-9s %s\n", how, m.name)
	}
	if survived > 0 {
		return fmt.Errorf("%d of %d survived", survived, len(mutants))
	}
	fmt.Printf("all %d are caught\n", len(mutants))
	return nil
}

// build builds the test with all bugs in it.
func build(ctx context.Context, dir string) (test string, err error) {
	changed := map[string]string{}
	for i, m := range mutants {
		if changed[m.file] == "" {
			source, err := os.ReadFile(m.file)
			if err != nil {
				return "", err
			}
			changed[m.file] = string(source)
			pkg := filepath.Dir(m.file)
			changed[filepath.Join(pkg, "mutant.go")] = fmt.Sprintf(nest, filepath.Base(pkg))
		}
		if n := strings.Count(changed[m.file], m.old); n != 1 {
			return "", fmt.Errorf("%s: %q is %d times in %s", m.name, m.old, n, m.file)
		}
		changed[m.file] = strings.Replace(changed[m.file], m.old, strings.ReplaceAll(m.bug, "BUG", fmt.Sprintf("mutant(%d)", i+1)), 1)
	}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range changed {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(root, file)] = to
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay, test := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "level.test")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlay, "-o", test, "./graph/level").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("does not build: %s", out)
	}
	return test, nil
}

// run lets a bug out.
func run(ctx context.Context, test string, bug int) (output []byte, failed bool) {
	cmd := exec.CommandContext(ctx, test, "-test.run", "^TestDifferential$", "-test.timeout", "5m")
	cmd.Dir, cmd.Env = filepath.Join("graph", "level"), append(os.Environ(), fmt.Sprintf("%s=%d", number, bug))
	output, err := cmd.CombinedOutput()
	return output, err != nil
}
