package models_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/internal/face"
	"skillgraph/internal/wire"
	"skillgraph/models"
)

type enum interface {
	~string
	Wire() string
	MarshalGQLContext(ctx context.Context, w io.Writer) error
}

// enumTest checks one enum against its definition in the schema.
type enumTest func(t *testing.T, def *ast.Definition)

func enumOf[E enum](all []E, parse func(string) (E, bool), unmarshal func(*E, any) error) enumTest {
	return func(t *testing.T, def *ast.Definition) {
		require.Len(t, all, len(def.EnumValues))
		spellings := map[string]bool{}
		for i, v := range def.EnumValues {
			e := all[i]
			require.Equal(t, v.Name, string(e), "the order of the schema")
			require.Equal(t, wire.Spelling(v), e.Wire())
			require.False(t, spellings[e.Wire()], "spelled like another value: %s", e.Wire())
			spellings[e.Wire()] = true
			back, ok := parse(e.Wire())
			require.True(t, ok)
			require.Equal(t, e, back)
			for ctx, spelling := range map[context.Context]string{t.Context(): v.Name, face.REST(t.Context(), "Test"): e.Wire()} {
				var b bytes.Buffer
				require.NoError(t, e.MarshalGQLContext(ctx, &b))
				require.Equal(t, strconv.Quote(spelling), b.String())
			}
			var read E
			require.NoError(t, unmarshal(&read, v.Name))
			require.Equal(t, e, read)
			require.Error(t, unmarshal(&read, e.Wire()), "GraphQL has its own spelling")
		}
		_, ok := parse("")
		require.False(t, ok)
		_, ok = parse(def.EnumValues[0].Name)
		require.False(t, ok, "REST has its own spelling")
		var read E
		for _, garbage := range []any{nil, 7, "", "NO_SUCH"} {
			require.EqualError(t, unmarshal(&read, garbage), fmt.Sprintf("%v is not a valid %s", garbage, def.Name))
		}
		require.Zero(t, read)
	}
}

func TestEnums(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../schema.graphqls")
	require.NoError(t, err)
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(text)})
	require.NoError(t, err)
	ctx := t.Context()
	tests := map[string]enumTest{
		"AlertChannel":      enumOf(models.AllAlertChannel, models.ParseAlertChannel, func(e *models.AlertChannel, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"AlertState":        enumOf(models.AllAlertState, models.ParseAlertState, func(e *models.AlertState, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"AlertType":         enumOf(models.AllAlertType, models.ParseAlertType, func(e *models.AlertType, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"Dimension":         enumOf(models.AllDimension, models.ParseDimension, func(e *models.Dimension, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"NotificationKind":  enumOf(models.AllNotificationKind, models.ParseNotificationKind, func(e *models.NotificationKind, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"NotificationState": enumOf(models.AllNotificationState, models.ParseNotificationState, func(e *models.NotificationState, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SkillOrder":        enumOf(models.AllSkillOrder, models.ParseSkillOrder, func(e *models.SkillOrder, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SkillStatus":       enumOf(models.AllSkillStatus, models.ParseSkillStatus, func(e *models.SkillStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"AssertionType":     enumOf(models.AllAssertionType, models.ParseAssertionType, func(e *models.AssertionType, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"CaseKind":          enumOf(models.AllCaseKind, models.ParseCaseKind, func(e *models.CaseKind, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"Expectation":       enumOf(models.AllExpectation, models.ParseExpectation, func(e *models.Expectation, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"Permission":        enumOf(models.AllPermission, models.ParsePermission, func(e *models.Permission, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"Plan":              enumOf(models.AllPlan, models.ParsePlan, func(e *models.Plan, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"Role":              enumOf(models.AllRole, models.ParseRole, func(e *models.Role, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SuiteField":        enumOf(models.AllSuiteField, models.ParseSuiteField, func(e *models.SuiteField, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SuiteKind":         enumOf(models.AllSuiteKind, models.ParseSuiteKind, func(e *models.SuiteKind, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SuiteOrder":        enumOf(models.AllSuiteOrder, models.ParseSuiteOrder, func(e *models.SuiteOrder, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SuiteSourceKind":   enumOf(models.AllSuiteSourceKind, models.ParseSuiteSourceKind, func(e *models.SuiteSourceKind, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"EntryOrder":        enumOf(models.AllEntryOrder, models.ParseEntryOrder, func(e *models.EntryOrder, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"EntryType":         enumOf(models.AllEntryType, models.ParseEntryType, func(e *models.EntryType, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"ReleaseKind":       enumOf(models.AllReleaseKind, models.ParseReleaseKind, func(e *models.ReleaseKind, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SyncStatus":        enumOf(models.AllSyncStatus, models.ParseSyncStatus, func(e *models.SyncStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"VersionOrder":      enumOf(models.AllVersionOrder, models.ParseVersionOrder, func(e *models.VersionOrder, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"VersionSource":     enumOf(models.AllVersionSource, models.ParseVersionSource, func(e *models.VersionSource, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"Visibility":        enumOf(models.AllVisibility, models.ParseVisibility, func(e *models.Visibility, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"AttemptStatus":     enumOf(models.AllAttemptStatus, models.ParseAttemptStatus, func(e *models.AttemptStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"AttemptTrigger":    enumOf(models.AllAttemptTrigger, models.ParseAttemptTrigger, func(e *models.AttemptTrigger, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"DeliveryState":     enumOf(models.AllDeliveryState, models.ParseDeliveryState, func(e *models.DeliveryState, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"WriteBackMode":     enumOf(models.AllWriteBackMode, models.ParseWriteBackMode, func(e *models.WriteBackMode, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"WriteBackStatus":   enumOf(models.AllWriteBackStatus, models.ParseWriteBackStatus, func(e *models.WriteBackStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"VerifierKind":      enumOf(models.AllVerifierKind, models.ParseVerifierKind, func(e *models.VerifierKind, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"ProposalStatus":    enumOf(models.AllProposalStatus, models.ParseProposalStatus, func(e *models.ProposalStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"ProposalType":      enumOf(models.AllProposalType, models.ParseProposalType, func(e *models.ProposalType, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SignalState":       enumOf(models.AllSignalState, models.ParseSignalState, func(e *models.SignalState, v any) error { return e.UnmarshalGQLContext(ctx, v) }),

		"AccountType":      enumOf(models.AllAccountType, models.ParseAccountType, func(e *models.AccountType, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"FileStatus":       enumOf(models.AllFileStatus, models.ParseFileStatus, func(e *models.FileStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"IssueLevel":       enumOf(models.AllIssueLevel, models.ParseIssueLevel, func(e *models.IssueLevel, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SourceType":       enumOf(models.AllSourceType, models.ParseSourceType, func(e *models.SourceType, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"ValidationStatus": enumOf(models.AllValidationStatus, models.ParseValidationStatus, func(e *models.ValidationStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"AcceptTarget":     enumOf(models.AllAcceptTarget, models.ParseAcceptTarget, func(e *models.AcceptTarget, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"EvidenceSource":   enumOf(models.AllEvidenceSource, models.ParseEvidenceSource, func(e *models.EvidenceSource, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"Judge":            enumOf(models.AllJudge, models.ParseJudge, func(e *models.Judge, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"CaseOutcome":      enumOf(models.AllCaseOutcome, models.ParseCaseOutcome, func(e *models.CaseOutcome, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"Provenance":       enumOf(models.AllProvenance, models.ParseProvenance, func(e *models.Provenance, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"ReviewStatus":     enumOf(models.AllReviewStatus, models.ParseReviewStatus, func(e *models.ReviewStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"RunStatus":        enumOf(models.AllRunStatus, models.ParseRunStatus, func(e *models.RunStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"RunVariant":       enumOf(models.AllRunVariant, models.ParseRunVariant, func(e *models.RunVariant, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SuggestionOrder":  enumOf(models.AllSuggestionOrder, models.ParseSuggestionOrder, func(e *models.SuggestionOrder, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SuggestionStatus": enumOf(models.AllSuggestionStatus, models.ParseSuggestionStatus, func(e *models.SuggestionStatus, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SearchMatch":      enumOf(models.AllSearchMatch, models.ParseSearchMatch, func(e *models.SearchMatch, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
		"SearchType":       enumOf(models.AllSearchType, models.ParseSearchType, func(e *models.SearchType, v any) error { return e.UnmarshalGQLContext(ctx, v) }),
	}
	for name, def := range schema.Types {
		if def.Kind == ast.Enum && !def.BuiltIn {
			require.Contains(t, tests, name, "every enum of the schema is tested")
			tests[name](t, def)
			delete(tests, name)
		}
	}
	require.Empty(t, tests)
}

// Every kind of case is a kind of suite, spelled alike.
func TestSuiteKindsAreCaseKinds(t *testing.T) {
	t.Parallel()
	want := []models.SuiteKind{}
	for _, k := range models.AllCaseKind {
		want = append(want, models.SuiteKind(k))
		require.Equal(t, k.Wire(), models.SuiteKind(k).Wire())
	}
	require.Equal(t, append(want, models.SuiteKindMixed), models.AllSuiteKind)
}

func TestPermissionsOnTheWire(t *testing.T) {
	t.Parallel()
	require.Equal(t, "telemetry:write", models.PermissionTelemetryWrite.Wire())
	require.Equal(t, "keys:manage", models.PermissionKeysManage.Wire())
	require.Equal(t, "registry:rollback", models.PermissionRegistryRollback.Wire())
}
