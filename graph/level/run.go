package level

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/graph/loader"
)

const (
	// sideBySide bounds what one operation does at the same time.
	sideBySide = 8
	// maxTries bounds how often a call may be made again. Each time it finds what it asked for the last time.
	maxTries = 20
)

// run is an execution of a plan. The rows of a node are found all at once, in the order in which they are written: the
// answer is written in the order of the document, which for the objects at one place of it is the order of their level.
type run struct {
	plan  *plan
	op    *graphql.OperationContext
	ctx   context.Context
	rows  [][]any  // the objects of each node that is deep
	asked []*group // by the numbers of the calls; nil: there was no object to ask about
	ready []*group // to be asked next
}

// execute runs a plan and returns the data of the answer.
func execute(ctx context.Context, op *graphql.OperationContext, p *plan) []byte {
	r := &run{plan: p, op: op, ctx: ctx, rows: make([][]any, p.nodes), asked: make([]*group, len(p.calls))}
	if p.root.deep {
		r.rows[p.root.id] = []any{nil} // the resolvers of the root have no object
		r.enter(p.root)
		r.load()
	}
	return r.write()
}

// enter is come to a node whose rows are known: what its objects have is taken, what must be called for is made ready.
func (r *run) enter(n *node) {
	rows := r.rows[n.id]
	for _, o := range n.ops {
		switch {
		case o.call >= 0:
			r.ready = append(r.ready, r.group(o, rows))
		case o.deep:
			for _, obj := range rows {
				r.collect(o, o.Get(obj))
			}
			r.descend(o)
		}
	}
}

// collect adds the objects in the value of a field to the rows of the nodes below it.
func (r *run) collect(o *op, v any) {
	switch {
	case v == nil:
	case o.Items == nil:
		if o.One != nil {
			v = o.One(v)
		}
		r.add(o, v)
	default:
		list := o.Items(v)
		for i := 0; list != nil && i < list.Len(); i++ {
			r.add(o, list.At(i))
		}
	}
}

func (r *run) add(o *op, obj any) {
	if kid, obj := o.kid(obj); kid != nil && kid.deep {
		r.rows[kid.id] = append(r.rows[kid.id], obj)
	}
}

// kid is what is selected of an object, and the object as its type has it; nil where the object is, or is of a type that
// the schema does not know.
func (o *op) kid(obj any) (*node, any) {
	if obj == nil {
		return nil, nil
	}
	if o.byType == nil {
		return o.kids[0], obj
	}
	name, obj := o.Type(obj)
	return o.byType[name], obj
}

func (r *run) descend(o *op) {
	for _, kid := range o.kids {
		if kid.deep && len(r.rows[kid.id]) > 0 {
			r.enter(kid)
		}
	}
}

// load asks until nothing is left to be asked.
func (r *run) load() {
	for len(r.ready) > 0 {
		var waiting, reading []*group
		for len(r.ready) > 0 { // answers that are there at once lead on to further questions
			now := r.ready
			r.ready = nil
			var tasks []func()
			for _, g := range now {
				switch {
				case g.op.Kind == Reading:
					reading = append(reading, g)
				case g.op.Kind == Resolving && g.op.edge == "":
					tasks = append(tasks, g.tasks()...)
				default:
					g.ask()
				}
			}
			together(tasks)
			for _, g := range now {
				switch {
				case g.op.Kind == Reading:
				case g.waits():
					waiting = append(waiting, g)
				default:
					r.answered(g)
				}
			}
		}
		var tasks []func()
		for _, read := range loader.Read(r.ctx) {
			tasks = append(tasks, func() { read(r.ctx) })
		}
		for _, g := range reading {
			tasks = append(tasks, g.ask)
		}
		together(tasks)
		for _, g := range reading {
			r.answered(g)
		}
		r.ready = append(r.ready, waiting...)
	}
}

// answered goes on with the objects that were found.
func (r *run) answered(g *group) {
	if !g.op.deep {
		return
	}
	for i := range g.answers {
		if a := &g.answers[i]; a.err == nil {
			r.collect(g.op, a.value)
		}
	}
	r.descend(g.op)
}

// together does the tasks side by side, a few at a time.
func together(tasks []func()) {
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(tasks)); i = next.Add(1) - 1 {
			tasks[i]()
		}
	}
	var wg sync.WaitGroup
	for range min(len(tasks), sideBySide) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// group is a field with all the objects of a level that it is asked for.
type group struct {
	run     *run
	op      *op
	call    Call // nil: its arguments could not be read
	rows    []any
	answers []reply
	next    atomic.Int64 // of the rows to be asked
	later   atomic.Int64 // how many have to be asked again
	tries   int
}

// reply is what a call has returned.
type reply struct {
	value any
	err   error // errLater where the call has to be made again
}

var errLater = errors.New("to be asked again")

// panicked is the error of a call that has not returned.
type panicked struct{ error }

func (r *run) group(o *op, rows []any) *group {
	g := &group{run: r, op: o, rows: rows, answers: make([]reply, len(rows))}
	r.asked[o.call] = g
	if args, err := r.args(r.ctx, o); err == nil {
		g.call = o.Bind(args)
	}
	return g
}

// args reads the arguments of a field. Those that cannot be read are read again for every object, to say so at its path.
func (r *run) args(ctx context.Context, o *op) (args map[string]any, err error) {
	if o.Args == nil {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = r.op.Recover(ctx, v)
		}
	}()
	return o.Args(ctx, o.field.ArgumentMap(r.op.Variables))
}

// tasks ask for all rows, side by side.
func (g *group) tasks() []func() {
	out := make([]func(), min(len(g.rows), sideBySide))
	for i := range out {
		out[i] = g.ask
	}
	return out
}

// ask makes the calls that have no answer yet. Several of it may run at the same time.
func (g *group) ask() {
	if g.call == nil {
		return
	}
	ctx, call := loader.WithCall(graphql.WithFieldContext(g.run.ctx, g.op.context()), len(g.rows), g.op.shown)
	for i := g.next.Add(1) - 1; i < int64(len(g.rows)); i = g.next.Add(1) - 1 {
		a := &g.answers[i]
		if g.tries > 0 && a.err != errLater { //nolint:errorlint // it is that very one
			continue
		}
		g.make(ctx, a, g.rows[i])
		if call.Waits() {
			a.err = errLater
			g.later.Add(1)
		}
	}
}

func (g *group) make(ctx context.Context, a *reply, obj any) {
	*a = reply{}
	defer func() {
		if v := recover(); v != nil {
			*a = reply{err: panicked{g.run.op.RecoverFunc(ctx, v)}}
		}
	}()
	a.value, a.err = g.call(ctx, obj)
}

// waits reports whether calls have to be made again, and makes them ready for it.
func (g *group) waits() bool {
	if g.later.Load() == 0 {
		return false
	}
	if g.tries++; g.tries == maxTries {
		for i := range g.answers {
			if a := &g.answers[i]; a.err == errLater { //nolint:errorlint // it is that very one
				*a = reply{err: fmt.Errorf("%s.%s asks its edges for something else whenever it is called", g.op.object, g.op.field.Name)}
			}
		}
		return false
	}
	g.next.Store(0)
	g.later.Store(0)
	return true
}
