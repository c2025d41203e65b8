package guard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/face"
	"skillgraph/internal/viewer"
	"skillgraph/models"
)

// TestNeed: what @auth can ask for, and what a refusal says.
func TestNeed(t *testing.T) {
	t.Parallel()
	free := &models.Viewer{Plan: models.PlanFree, Permissions: models.RoleOwner.Permissions()}
	pro := &models.Viewer{Plan: models.PlanPro, Permissions: models.RoleMember.Permissions()}
	enterprise := &models.Viewer{Plan: models.PlanEnterprise}
	tests := map[string]struct {
		need    need
		viewer  *models.Viewer
		code    errs.Code
		message string
	}{
		"nothing":               {need{field: "f"}, enterprise, "", ""},
		"nobody":                {need{field: "f"}, nil, errs.Unauthenticated, "An API key is needed: send the header Authorization: Bearer <key>"},
		"the very plan":         {need{field: "f", plan: models.PlanPro}, pro, "", ""},
		"a higher plan":         {need{field: "f", plan: models.PlanPro}, enterprise, "", ""},
		"a plan too low":        {need{field: "f", plan: models.PlanPro}, free, errs.PlanRequired, "f needs the pro plan; this organization is on the free plan"},
		"team is not pro":       {need{field: "f", plan: models.PlanTeam}, pro, errs.PlanRequired, "f needs the team plan; this organization is on the pro plan"},
		"the permission":        {need{field: "f", can: models.PermissionRegistryPush}, pro, "", ""},
		"not the permission":    {need{field: "f", can: models.PermissionRegistryRollback}, pro, errs.Forbidden, "f needs the permission registry:rollback, which this API key does not have"},
		"both":                  {need{field: "f", plan: models.PlanPro, can: models.PermissionRegistryPush}, pro, "", ""},
		"the plan comes first":  {need{field: "f", plan: models.PlanPro, can: models.PermissionRegistryPush}, &models.Viewer{Plan: models.PlanFree}, errs.PlanRequired, "f needs the pro plan; this organization is on the free plan"},
		"a writer, any sort":    {need{field: "f", writer: true}, pro, "", ""},
		"a reader":              {need{field: "f", writer: true}, enterprise, errs.Forbidden, "f needs an API key that may do more than read"},
		"permission, plan fine": {need{field: "f", plan: models.PlanPro, can: models.PermissionRegistryPush}, enterprise, errs.Forbidden, "f needs the permission registry:push, which this API key does not have"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.need.check(tt.viewer)
			if tt.code == "" {
				require.Nil(t, err)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, tt.code, err.Code)
			require.Equal(t, tt.message, err.Message)
		})
	}
}

// TestAuthorize: no way of writing a selection hides a field, and what will not run needs nothing.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	const keys = "organization { apiKeys { totalCount } }"
	tests := map[string]struct {
		query   string
		vars    map[string]any
		refused string // the field that a viewer is refused for
	}{
		"reading":                       {"{ organization { name members { totalCount } } }", nil, ""},
		"a field below another":         {"{ " + keys + " }", nil, "apiKeys"},
		"an alias":                      {"{ o: organization { members: apiKeys { totalCount } } }", nil, "apiKeys"},
		"an inline fragment":            {"{ ... { ... on Query { organization { ... { apiKeys { totalCount } } } } } }", nil, "apiKeys"},
		"a fragment":                    {"{ ...F } fragment F on Query { organization { ...G } } fragment G on Organization { apiKeys { totalCount } }", nil, "apiKeys"},
		"a fragment spread twice":       {"{ viewer { plan } ...F ...F } fragment F on Query { " + keys + " }", nil, "apiKeys"},
		"a fragment skipped, then not":  {"query($s: Boolean!) { ...F @skip(if: $s) ...F } fragment F on Query { " + keys + " }", map[string]any{"s": true}, "apiKeys"},
		"a node":                        {`{ node(id: "x") { ... on Organization { apiKeys { totalCount } } } }`, nil, "apiKeys"},
		"the second of two operations":  {"query A { " + keys + " } query B { viewer { plan } }", nil, "apiKeys"},
		"a mutation":                    {`mutation { deleteSuite(id: "x") { deletedId } }`, nil, "deleteSuite"},
		"the first of two mutations":    {`mutation { a: revokeApiKey(id: "x") { apiKey { id } } deleteSuite(id: "x") { deletedId } }`, nil, "revokeApiKey"},
		"skipped":                       {"{ viewer { plan } organization { name apiKeys @skip(if: true) { totalCount } } }", nil, ""},
		"not skipped":                   {"{ organization { apiKeys @skip(if: false) { totalCount } } }", nil, "apiKeys"},
		"not included":                  {"{ organization { name apiKeys @include(if: false) { totalCount } } }", nil, ""},
		"included":                      {"{ organization { apiKeys @include(if: true) { totalCount } } }", nil, "apiKeys"},
		"included but skipped":          {"{ organization { name apiKeys @include(if: true) @skip(if: true) { totalCount } } }", nil, ""},
		"the parent is skipped":         {"{ viewer { plan } organization @skip(if: true) { apiKeys { totalCount } } }", nil, ""},
		"the fragment is skipped":       {"{ viewer { plan } ...F @skip(if: true) } fragment F on Query { " + keys + " }", nil, ""},
		"the inline fragment is":        {"{ viewer { plan } ... @include(if: false) { " + keys + " } }", nil, ""},
		"skipped by a variable":         {"query($s: Boolean!) { organization { name apiKeys @skip(if: $s) { totalCount } } }", map[string]any{"s": true}, ""},
		"not skipped by a variable":     {"query($s: Boolean!) { organization { name apiKeys @skip(if: $s) { totalCount } } }", map[string]any{"s": false}, "apiKeys"},
		"included by a variable":        {"query($s: Boolean!) { organization { name apiKeys @include(if: $s) { totalCount } } }", map[string]any{"s": true}, "apiKeys"},
		"by a variable's default":       {"query($s: Boolean = true) { organization { name apiKeys @include(if: $s) { totalCount } } }", nil, "apiKeys"},
		"against a variable's default":  {"query($s: Boolean = true) { organization { name apiKeys @include(if: $s) { totalCount } } }", map[string]any{"s": false}, ""},
		"both directives, a field each": {"query($s: Boolean!) { organization { apiKeys @skip(if: $s) { totalCount } k: apiKeys @include(if: $s) { totalCount } } }", map[string]any{"s": true}, "apiKeys"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, op := New(nil), operation(t, tt.query, tt.vars)
			require.NoError(t, orNil(g.authorize(op, as(models.RoleOwner))))
			for range 2 { // as it is worked out, and as it is remembered
				err := g.authorize(op, as(models.RoleViewer))
				if tt.refused == "" {
					require.NoError(t, orNil(err))
					continue
				}
				require.Error(t, orNil(err))
				require.Equal(t, errs.Forbidden, errs.CodeOf(err))
				require.Contains(t, err.Error(), tt.refused+" needs the permission")
			}
			require.NoError(t, orNil(g.authorize(op, as(models.RoleOwner))))
		})
	}
}

// TestMemo: what is remembered of a document belongs neither to the variables nor to the caller of the first time.
func TestMemo(t *testing.T) {
	t.Parallel()
	owner, reader := as(models.RoleOwner), as(models.RoleViewer)
	query := "query($s: Boolean!) { organization { name apiKeys @skip(if: $s) { totalCount } } }"
	g := New(nil)
	shown, hidden := operation(t, query, map[string]any{"s": false}), operation(t, query, map[string]any{"s": true})
	hidden.Doc, hidden.Operation = shown.Doc, shown.Operation // the parsed document is shared, as in the cache
	for _, first := range []bool{true, false} {
		if first {
			require.NoError(t, orNil(g.authorize(hidden, reader)))
		}
		require.Error(t, orNil(g.authorize(shown, reader)))
		require.NoError(t, orNil(g.authorize(shown, owner)))
		require.NoError(t, orNil(g.authorize(hidden, reader)))
		require.Error(t, orNil(g.authorize(shown, reader)))
	}

	plain := operation(t, "{ organization { apiKeys { totalCount } } }", nil)
	for range 2 {
		require.NoError(t, orNil(g.authorize(plain, owner)))
		require.Error(t, orNil(g.authorize(plain, reader)))
		require.Error(t, orNil(g.authorize(plain, nil)), "nobody at all")
	}

	two := operation(t, "query A { viewer { plan } } query B { organization { apiKeys { totalCount } } }", nil)
	require.NoError(t, orNil(g.authorize(two, reader)))
	two.Operation = two.Doc.Operations[1]
	require.Error(t, orNil(g.authorize(two, reader)))
}

// TestStoredDocumentsAreAuthorized: REST is no way around.
func TestStoredDocumentsAreAuthorized(t *testing.T) {
	t.Parallel()
	op := operation(t, `mutation D { deleteSuite(id: "x") { deletedId } }`, nil)
	ctx := face.REST(viewer.With(t.Context(), as(models.RoleViewer)), "D")
	err := New(nil).MutateOperationContext(ctx, op)
	require.Error(t, orNil(err))
	require.Equal(t, errs.Forbidden, errs.CodeOf(err))
	require.Equal(t, errs.Unauthenticated, errs.CodeOf(New(nil).MutateOperationContext(t.Context(), op)))
}
