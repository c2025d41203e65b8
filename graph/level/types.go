package level

import "context"

// Types is a table of all object types: how each of their fields is read. internal/gen writes it from what gqlgen has
// bound; a field that is not there is left to gqlgen.
type Types map[string]map[string]*Field

// Field is how a field is read. One of Put, Get and Bind is set.
type Field struct {
	// Put writes a leaf that the object has; false: it is null, and nothing was written.
	Put func(w *Writer, obj any) bool
	// Method tells that Put runs code of the model, which may panic.
	Method bool
	// Column is where the row of the object has the leaf, and Model the name of the Go type of such rows; both are empty
	// where it has not.
	Model, Column string
	// Get is the object, or the list of objects, that the object has.
	Get func(obj any) any
	// Bind is what has to be called, once the arguments are known.
	Bind func(args map[string]any) Call
	// Args reads the arguments.
	Args func(ctx context.Context, raw map[string]any) (map[string]any, error)
	// How Bind's call finds its value.
	Kind Kind

	// What becomes of a value of Get or Bind:

	// Leaf writes it, as Put does.
	Leaf func(w *Writer, v any) bool
	// One makes an object of it; nil: there is none. Where One itself is nil, the value is the object.
	One func(v any) any
	// Items makes a list of objects of it; nil: there is none.
	Items func(v any) List
	// Type tells the name of the type that an object has, and the object as that type's fields take it. An object that
	// is nil has no name.
	Type func(obj any) (name string, of any)
}

// Call asks for a field of one object.
type Call func(ctx context.Context, obj any) (any, error)

// Kind is how a call finds its value.
type Kind uint8

const (
	// Instantly is that a method of the model computes it from what the object has.
	Instantly Kind = iota
	// Reading is that a method of the model may read it, on its own.
	Reading
	// Resolving is that a resolver follows edges for it, or does whatever else it likes.
	Resolving
)

// List is a list of objects of any Go type.
type List interface {
	Len() int
	At(i int) any // nil: there is none
}

// Pointer is One for pointers.
func Pointer[T any](v any) any {
	if p := v.(*T); p != nil {
		return p
	}
	return nil
}

// Value is One for structs.
func Value[T any](v any) any {
	s := v.(T)
	return &s
}

// Pointers is Items for slices of pointers.
func Pointers[T any](v any) List {
	if s := v.([]*T); s != nil {
		return pointers[T](s)
	}
	return nil
}

type pointers[T any] []*T

func (l pointers[T]) Len() int { return len(l) }

func (l pointers[T]) At(i int) any {
	if l[i] == nil {
		return nil
	}
	return l[i]
}

// Values is Items for slices of structs.
func Values[T any](v any) List {
	if s := v.([]T); s != nil {
		return values[T](s)
	}
	return nil
}

type values[T any] []T

func (l values[T]) Len() int     { return len(l) }
func (l values[T]) At(i int) any { return &l[i] }

// Interfaces is Items for slices of interfaces.
func Interfaces[T any](v any) List {
	if s := v.([]T); s != nil {
		return interfaces[T](s)
	}
	return nil
}

type interfaces[T any] []T

func (l interfaces[T]) Len() int     { return len(l) }
func (l interfaces[T]) At(i int) any { return l[i] }
