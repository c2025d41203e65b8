package main

import (
	_ "embed"
	"go/types"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/99designs/gqlgen/codegen"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/99designs/gqlgen/codegen/templates"
	"github.com/vektah/gqlparser/v2/ast"
)

//go:embed level.gotmpl
var levelText string

// levelTable is a plugin of gqlgen that writes the table of the level executor: what gqlgen has bound each field to, as
// small functions. A field that it has no words for is left out, and with it goes any query that selects it to gqlgen.
type levelTable struct{}

func (levelTable) Name() string { return "level" }

// GenerateCode writes it beside what gqlgen itself generates.
func (levelTable) GenerateCode(d *codegen.Data) error {
	shown := reachable(d.Schema)
	data := levelData{}
	for _, o := range d.Objects {
		if shown[o.Name] && !o.BuiltIn && !o.IsMap() && (!o.Root || o == d.QueryRoot) {
			data.Objects = append(data.Objects, o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Interfaces)) {
		if shown[name] {
			data.Interfaces = append(data.Interfaces, d.Interfaces[name])
		}
	}
	return templates.Render(templates.Options{
		PackageName: d.Config.Exec.Package, Filename: filepath.Join(d.Config.Exec.Dir(), "level.go"), GeneratedHeader: true,
		Template: levelText, Data: data, Packages: d.Config.Packages,
		Funcs: template.FuncMap{"field": fieldCode},
	})
}

type levelData struct {
	Objects    []*codegen.Object
	Interfaces []*codegen.Interface
}

// reachable are the types that a query can come to.
func reachable(s *ast.Schema) map[string]bool {
	seen := map[string]bool{}
	var visit func(*ast.Definition)
	visit = func(def *ast.Definition) {
		if seen[def.Name] {
			return
		}
		seen[def.Name] = true
		for _, f := range def.Fields {
			visit(s.Types[f.Type.Name()])
		}
		for _, t := range s.GetPossibleTypes(def) {
			visit(t)
		}
	}
	visit(s.Query)
	return seen
}

// fieldCode is the entry of a field, or "" when there is none for it.
func fieldCode(f *codegen.Field) string {
	switch {
	case f.IsReserved(), f.IsMap(), f.IsBatch(), f.HasDirectives(), f.HasHaser, f.VOkFunc, f.Stream, f.TypeReference.IsOmittable:
		return ""
	case f.IsResolver, f.MethodHasContext, f.IsMethod() && (!f.NoErr || len(f.Args) > 0):
		return bound(f)
	case f.TypeReference.Definition.IsLeafType():
		body, ok := leaf(f.TypeReference, access(f))
		if !ok {
			return ""
		}
		return "Put: func(w *level.Writer, obj any) bool {\n" + body + "}," + member(f)
	case f.IsMethod(): // it may fail, and is called once
		return bound(f)
	}
	get, shape := "return "+access(f), object(f.TypeReference)
	if shape == byValue {
		get, shape = "return &"+access(f), "\n"
	}
	if shape == "" {
		return ""
	}
	return "Get: func(obj any) any { " + get + " }," + shape + typeSwitch(f)
}

// access is the Go expression for a field that the object has.
func access(f *codegen.Field) string {
	expr := "obj.(" + goType(f.Object.Reference()) + ")." + f.GoFieldName
	if f.IsMethod() {
		expr += "()"
	}
	return expr
}

// member tells which column of its row a member of the object comes from; or that it may panic, as a method may, and a member
// of an embedded pointer.
func member(f *codegen.Field) string {
	_, path, indirect := types.LookupFieldOrMethod(f.Object.Type, true, pkgOf(f.Object.Type), f.GoFieldName)
	if f.IsMethod() || indirect {
		return " Method: true,"
	}
	t, tag := f.Object.Type.Underlying(), ""
	for _, i := range path {
		row, ok := t.(*types.Struct)
		if !ok {
			return ""
		}
		t, tag = row.Field(i).Type().Underlying(), row.Tag(i)
	}
	if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("bun"), ","); name != "" && name != "-" {
		return " Model: " + strconv.Quote(f.Object.Type.(*types.Named).Obj().Name()) + ", Column: " + strconv.Quote(name) + ","
	}
	return ""
}

// bound is the entry of a field that has to be called for.
func bound(f *codegen.Field) string {
	what := object(f.TypeReference)
	if what == byValue {
		what = "One: level.Value[" + goType(f.TypeReference.GO) + "],"
	}
	if f.TypeReference.Definition.IsLeafType() {
		body, ok := leaf(f.TypeReference, "v.("+goType(f.TypeReference.GO)+")")
		if !ok {
			return ""
		}
		what = "Leaf: func(w *level.Writer, v any) bool {\n" + body + "},"
	}
	if what == "" {
		return ""
	}
	kind, on, args := "level.Instantly", "obj.("+goType(f.Object.Reference())+")", []string(nil)
	switch {
	case f.IsResolver:
		kind, on, args = "level.Resolving", "r", []string{"ctx"}
		if !f.Object.Root {
			args = append(args, "obj.("+goType(f.Object.Reference())+")")
		}
	case f.MethodHasContext:
		kind, args = "level.Reading", []string{"ctx"}
	}
	var b strings.Builder
	b.WriteString("Kind: " + kind + ",\n")
	if len(f.Args) > 0 {
		b.WriteString("Args: ec." + f.ArgsFunc() + ",\n")
	}
	b.WriteString("Bind: func(args map[string]any) level.Call {\n")
	if f.IsResolver {
		b.WriteString("r := ec.Resolvers." + strings.ToUpper(f.Object.Name[:1]) + f.Object.Name[1:] + "()\n")
	}
	for _, a := range f.Args {
		b.WriteString(a.VarName + "_ := args[\"" + a.Name + "\"].(" + goType(a.TypeReference.GO) + ")\n")
		args = append(args, a.VarName+"_")
	}
	call := on + "." + f.GoFieldName + "(" + strings.Join(args, ", ") + ")"
	if f.NoErr && !f.IsResolver {
		call += ", nil"
	}
	b.WriteString("return func(ctx context.Context, obj any) (any, error) { return " + call + " }\n},\n" + what + typeSwitch(f))
	return b.String()
}

// byValue is a struct that is no pointer.
const byValue = "by value"

// object tells how objects are found in a value of the Go type, or "" when there is no telling.
func object(ref *config.TypeReference) string {
	if ref.Definition.IsLeafType() {
		return ""
	}
	if ref.GQL.Elem == nil {
		return shape(ref.GO, "One: level.Pointer", "\n", byValue)
	}
	slice, ok := ref.GO.(*types.Slice)
	if !ok || ref.GQL.Elem.Elem != nil {
		return ""
	}
	switch s := shape(slice.Elem(), "Items: level.Pointers", "Items: level.Interfaces", "Items: level.Values"); {
	case strings.HasSuffix(s, "],"):
		return s
	default:
		return s + "[" + goType(slice.Elem()) + "],"
	}
}

func shape(t types.Type, pointer, iface, value string) string {
	if p, ok := t.(*types.Pointer); ok {
		return pointer + "[" + goType(p.Elem()) + "],"
	}
	if types.IsInterface(t) {
		return iface
	}
	return value
}

// typeSwitch names the function that tells the types of an interface apart.
func typeSwitch(f *codegen.Field) string {
	if def := f.TypeReference.Definition; def.IsAbstractType() {
		return " Type: levelTypeOf" + def.Name + ","
	}
	return ""
}

// leaf is a function's body that writes a scalar, an enum or a list of them.
func leaf(ref *config.TypeReference, expr string) (string, bool) {
	if ref.GQL.Elem == nil {
		return scalar(ref, expr)
	}
	if !ref.IsSlice() || ref.GQL.Elem.Elem != nil || ref.Elem().IsNilable() {
		return "", false
	}
	put, ok := put(ref.Elem(), "v")
	nullable := "true"
	if ref.GQL.NonNull {
		nullable = "false"
	}
	return "return level.Leaves(w, " + expr + ", " + nullable + ", func(w *level.Writer, v " + goType(ref.Elem().GO) + ") { " + put + " })\n", ok
}

func scalar(ref *config.TypeReference, expr string) (string, bool) {
	if !ref.IsNilable() {
		put, ok := put(ref, expr)
		return put + "\nreturn true\n", ok
	}
	x := "x"
	if ref.IsPtr() {
		ref, x = ref.Elem(), "*x"
	}
	put, ok := put(ref, x)
	return "x := " + expr + "\nif x == nil { return false }\n" + put + "\nreturn true\n", ok
}

// put is a statement that writes one value. A type can say how it is appended to bytes: with a method AppendGQL or, where
// a function marshals it, a function Append beside that.
func put(ref *config.TypeReference, v string) (string, bool) {
	if ref.CastType != nil || ref.HasEnumValues() {
		return "", false
	}
	if ref.IsMarshaler {
		if strings.HasPrefix(v, "*") {
			v = "(" + v + ")"
		}
		method, _, _ := types.LookupFieldOrMethod(ref.GO, true, pkgOf(ref.GO), "AppendGQL")
		switch fn, _ := method.(*types.Func); {
		case fn != nil && fn.Signature().Params().Len() == 2:
			return "w.B = " + v + ".AppendGQL(w.B, w.REST)", true
		case fn != nil:
			return "w.B = " + v + ".AppendGQL(w.B)", true
		case ref.IsContext:
			return "w.Marshal(" + v + ")", true
		}
		return v + ".MarshalGQL(w)", true
	}
	if ref.Marshaler == nil {
		return "", false
	}
	pkg, name := ref.Marshaler.Pkg(), ref.Marshaler.Name()
	if pkg.Path() == "github.com/99designs/gqlgen/graphql" {
		own := map[string]string{"MarshalString": "String", "MarshalID": "String", "MarshalBoolean": "Bool", "MarshalFloatContext": "Float"}[name]
		return "w." + own + "(" + v + ")", own != ""
	}
	fn, _ := pkg.Scope().Lookup("Append" + strings.TrimPrefix(name, "Marshal")).(*types.Func)
	if fn == nil {
		return "", false
	}
	return "w.B = " + templates.CurrentImports.Lookup(pkg.Path()) + "." + fn.Name() + "(w.B, " + v + ")", true
}

func goType(t types.Type) string { return templates.CurrentImports.LookupType(t) }

func pkgOf(t types.Type) *types.Package {
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Pkg()
	}
	return nil
}
