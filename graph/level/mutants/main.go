// Command mutants proves that the differential test can fail: it puts one deliberate bug after the other into the level
// executor, without touching the files, and wants the test to notice each. Run it from the root of the repository, where
// a PostgreSQL is to be had: make test/mutants.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mutant is a bug: a piece of text that is in a file once, and what stands there instead.
type mutant struct{ name, file, old, bug string }

var mutants = []mutant{
	{"a plan serves any value of a condition", "graph/level/level.go", "key.values |= 1 << i", "_ = i"},
	{"fragments on interfaces are passed over", "graph/level/plan.go", "out = append(out, def.Name)", "_ = def"},
	{"all objects of an interface are of one type", "graph/level/run.go", "return o.byType[name], obj", "_ = name\n\treturn o.kids[0], obj"},
	{"null where none may be stays there", "graph/level/write.go", "if !w.field(o, obj, row) && o.nonNull {", "if !w.field(o, obj, row) && false {"},
	{"null in a list that may have none stays there", "graph/level/write.go", "!w.element(o, list.At(i), o.elemNonNull) && o.elemNonNull", "!w.element(o, list.At(i), o.elemNonNull) && false"},
	{"nobody tells of a null", "graph/level/write.go", "graphql.AddError(ctx, err)\n\t}\n}", "_ = err\n\t}\n}"},
	{"what was taken back is told of", "graph/level/write.go", "w.late = w.late[:len(w.late)-1]", "break"},
	{"every object shows the answers of the first", "graph/level/write.go", "w.next[n.id]++", ""},
	{"errors are all at the first element", "graph/level/write.go", "w.path[len(w.path)-1].index = i", "_ = i"},
	{"errors do not tell where in the document", "graph/level/write.go", "graphql.AddFieldLocationToError(ctx, a.err)", "a.err"},
	{"an empty list is null", "graph/level/types.go", "if s := v.([]*T); s != nil {", "if s := v.([]*T); len(s) > 0 {"},
	{"REST spells enums the GraphQL way", "graph/level/write.go", "REST: face.IsREST(r.ctx),", "REST: face.IsREST(r.ctx) && false,"},
	{"numbers that are none are 0", "graph/level/encode.go", "w.mistaken(errNoNumber)", "w.B = append(w.B, '0')"},
	{"line breaks are not escaped", "graph/level/encode.go", "b = append(b, `\\n`...)", "b = append(b, '\\n')"},
	{"batches with other arguments are shared", "graph/loader/call.go", "!ok || b.edge != e || b.args != args", "!ok || b.edge != e"},
	{"the error of a batch is lost", "graph/loader/call.go", "return at.found[key], at.err", "return at.found[key], nil"},
	{"keys beyond the first are forgotten", "graph/loader/call.go", "b.open.keys = append(b.open.keys, key)", "b.open.keys = append(b.open.keys[:0], key)"},
	{"every key is read on its own", "graph/loader/call.go", "b.open == nil || len(b.open.keys) == capacity", "true"},
	{"calls that wait are not made again", "graph/level/run.go", "r.ready = append(r.ready, waiting...)", "_ = waiting"},
}

func main() {
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	survived := 0
	for _, m := range mutants {
		how, err := m.try(dir)
		if err != nil {
			log.Fatalf("%s: %v", m.name, err) //nolint:gocritic // the temporary folder may stay
		}
		fmt.Printf("%-9s %s\n", how, m.name)
		if how != "caught" {
			survived++
		}
	}
	if survived > 0 {
		log.Fatalf("%d of %d survived", survived, len(mutants))
	}
	fmt.Printf("all %d are caught\n", len(mutants))
}

// try builds the test with the bug in it and runs it.
func (m mutant) try(dir string) (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%q is %d times in %s", m.old, n, m.file)
	}
	changed, overlay, test := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "level.test")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.old, m.bug, 1)), 0o600); err != nil {
		return "", err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "test", "-c", "-gcflags", "skillgraph/graph/generated=-N -l", "-overlay", overlay, "-o", test, "./graph/level").CombinedOutput(); err != nil {
		return "", fmt.Errorf("does not build: %s", out)
	}
	run := exec.Command(test, "-test.run", "^TestDifferential$", "-test.timeout", "2m")
	run.Dir = "graph/level"
	if out, err := run.CombinedOutput(); err == nil {
		return "SURVIVED", nil
	} else if !strings.Contains(string(out), "FAIL") && !strings.Contains(string(out), "panic") {
		return "", fmt.Errorf("could not be tried: %v: %s", err, out)
	}
	return "caught", nil
}
