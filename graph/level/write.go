package level

import (
	"context"
	"errors"
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/internal/answer"
	"skillgraph/internal/face"
)

// What gqlgen says of nulls.
var (
	errNothing = errors.New("must not be null")
	errNull    = errors.New("the requested element is null which the schema does not allow")
)

// Writer writes an answer.
type Writer struct {
	// B is what was written.
	B []byte
	// REST tells that enums are spelled the REST way.
	REST bool

	run  *run
	next []int // the row of each node that is written next
	path []step
	leaf *op       // that is being written
	late []mistake // of leaves that could not be written
}

// step is a step of a path: into a field or, where that is nil, to an element of a list.
type step struct {
	op    *op
	index int
}

// mistake is an error that is one only if what stands at its place is not taken away again.
type mistake struct {
	at  int
	ctx context.Context
	err error
}

func (r *run) write() []byte {
	out := answer.From(r.ctx)
	start := len(out.B)
	w := &Writer{B: out.B, REST: face.IsREST(r.ctx), run: r, next: make([]int, r.plan.nodes)}
	if !w.object(r.plan.root, nil) {
		w.takeBack(start)
		w.null()
	}
	for _, m := range w.late {
		graphql.AddError(m.ctx, m.err)
	}
	out.B = w.B
	return w.B[start:]
}

// takeBack removes what was written since.
func (w *Writer) takeBack(at int) {
	w.B = w.B[:at]
	for len(w.late) > 0 && w.late[len(w.late)-1].at >= at {
		w.late = w.late[:len(w.late)-1]
	}
}

func (w *Writer) null() bool {
	w.B = append(w.B, "null"...)
	return false
}

// object writes an object; false: it has to be null, and what was written be taken back.
func (w *Writer) object(n *node, obj any) bool {
	row := 0
	if n.deep {
		row = w.next[n.id]
		w.next[n.id]++
	}
	ok := true
	w.B = append(w.B, '{')
	for _, o := range n.ops {
		w.B = append(w.B, o.key...)
		if !w.field(o, obj, row) && o.nonNull {
			ok = false // and go on: everybody's errors are told
		}
	}
	w.B = append(w.B, '}')
	return ok
}

// field writes the value of a field; false: it is null.
func (w *Writer) field(o *op, obj any, row int) bool {
	switch {
	case o.text != nil:
		w.B = append(w.B, o.text...)
		return true
	case o.Put != nil && o.Method:
		return w.method(o, obj)
	case o.Put != nil:
		w.leaf = o
		return o.Put(w, obj) || w.nullLeaf(o)
	case o.Get != nil:
		return w.value(o, o.Get(obj))
	}
	g := w.run.asked[o.call]
	a := &g.answers[row]
	switch {
	case g.call == nil:
		ctx := w.at(o)
		_, err := w.run.args(ctx, o)
		w.run.op.Error(ctx, err)
		return w.null()
	case a.err != nil:
		if p, ok := a.err.(panicked); ok { //nolint:errorlint // nobody wraps it
			w.fail(o, p.error)
			return w.null()
		}
		ctx := w.at(o)
		w.run.op.Error(ctx, graphql.AddFieldLocationToError(ctx, a.err))
		return w.null()
	case o.Leaf == nil:
		return w.value(o, a.value)
	}
	w.leaf = o
	return o.Leaf(w, a.value) || w.nullLeaf(o)
}

// method writes a leaf that the model computes.
func (w *Writer) method(o *op, obj any) (ok bool) {
	start := len(w.B)
	defer func() {
		if v := recover(); v != nil {
			w.takeBack(start)
			ctx := w.at(o)
			w.run.op.Error(ctx, w.run.op.Recover(ctx, v))
			ok = w.null()
		}
	}()
	w.leaf = o
	return o.Put(w, obj) || w.nullLeaf(o)
}

func (w *Writer) nullLeaf(o *op) bool {
	if o.nonNull {
		w.missing(o, errNull)
	}
	return w.null()
}

// value writes an object or a list of objects.
func (w *Writer) value(o *op, v any) bool {
	if v == nil {
		if o.nonNull {
			w.missing(o, errNothing)
		}
		return w.null()
	}
	if o.Items != nil {
		return w.list(o, o.Items(v))
	}
	if o.One != nil {
		v = o.One(v)
	}
	w.path = append(w.path, step{op: o})
	ok := w.element(o, v, o.nonNull)
	w.path = w.path[:len(w.path)-1]
	return ok
}

func (w *Writer) list(o *op, list List) bool {
	if list == nil {
		if !o.nonNull {
			return w.null()
		}
		w.B = append(w.B, "[]"...) // as gqlgen has it
		return true
	}
	start, ok := len(w.B), true
	w.path = append(w.path, step{op: o}, step{})
	w.B = append(w.B, '[')
	for i := range list.Len() {
		if i > 0 {
			w.B = append(w.B, ',')
		}
		w.path[len(w.path)-1].index = i
		if !w.element(o, list.At(i), o.elemNonNull) && o.elemNonNull {
			ok = false
		}
	}
	w.path = w.path[:len(w.path)-2]
	w.B = append(w.B, ']')
	if !ok {
		w.takeBack(start)
		w.null()
	}
	return ok
}

// element writes the object that the path leads to.
func (w *Writer) element(o *op, obj any, nonNull bool) bool {
	if obj == nil {
		if nonNull {
			w.missing(nil, errNull)
		}
		return w.null()
	}
	kid, of := o.kid(obj)
	if kid == nil {
		if of != nil {
			w.fail(nil, fmt.Errorf("unexpected type %T of %s.%s", obj, o.object, o.field.Name))
		}
		return w.null()
	}
	start := len(w.B)
	if !w.object(kid, of) {
		w.takeBack(start)
		return w.null()
	}
	return true
}

// at is the context of a field or, where that is nil, of the place that the path leads to: errors find their path there.
func (w *Writer) at(o *op) context.Context {
	ctx := graphql.WithFieldContext(w.run.ctx, &graphql.FieldContext{Object: w.run.plan.root.typ})
	steps := w.path
	if o != nil {
		steps = append(steps, step{op: o})
	}
	for _, s := range steps {
		if s.op == nil {
			ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Index: &s.index})
		} else {
			ctx = graphql.WithFieldContext(ctx, s.op.context())
		}
	}
	return ctx
}

func (o *op) context() *graphql.FieldContext {
	call := o.Field != nil && o.Bind != nil
	return &graphql.FieldContext{Object: o.object, Field: o.field, IsMethod: call, IsResolver: call && o.Kind == Resolving}
}

func (w *Writer) fail(o *op, err error) { w.run.op.Error(w.at(o), err) }

// missing tells of a null where none may be, unless the resolver has told already why.
func (w *Writer) missing(o *op, err error) {
	if ctx := w.at(o); !graphql.HasFieldError(ctx, graphql.GetFieldContext(ctx)) {
		graphql.AddError(ctx, err)
	}
}
