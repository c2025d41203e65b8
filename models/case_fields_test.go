package models_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/models"
)

// An empty value takes the field away. The path is that of the field, unless at says which part of it is wrong.
var badFields = []struct {
	kind    models.CaseKind
	field   string
	value   string
	message string
	at      string
}{
	{kind: models.CaseKindTriggerQuery, field: "case_kind", value: `7`, message: "must be a string"},
	{kind: models.CaseKindTriggerQuery, field: "case_kind", value: `"TRIGGER_QUERY"`, message: "must be one of boolean_assertion, exact_match, json_schema, llm_rubric, task_package, trigger_query"},
	{kind: models.CaseKindTriggerQuery, field: "case_kind", value: `""`, message: "must be one of boolean_assertion, exact_match, json_schema, llm_rubric, task_package, trigger_query"},
	{kind: models.CaseKindTriggerQuery, field: "id", value: `null`, message: "must be a string of 1 to 128 characters"},
	{kind: models.CaseKindTriggerQuery, field: "id", value: `""`, message: "must be a string of 1 to 128 characters"},
	{kind: models.CaseKindTriggerQuery, field: "id", value: `"` + strings.Repeat("é", 129) + `"`, message: "must be a string of 1 to 128 characters"},
	{kind: models.CaseKindTriggerQuery, field: "id", value: `7`, message: "must be a string"},
	{kind: models.CaseKindTriggerQuery, field: "id", value: `" "`, message: "must not be empty"},
	{kind: models.CaseKindTriggerQuery, field: "id", value: `"a\u0000b"`, message: "must not contain control characters"},
	{kind: models.CaseKindTriggerQuery, field: "name", value: `7`, message: "must be a string"},
	{kind: models.CaseKindTriggerQuery, field: "name", value: `"a\nb"`, message: "must not contain control characters"},
	{kind: models.CaseKindTriggerQuery, field: "name", value: `"` + strings.Repeat("é", 201) + `"`, message: "must be at most 200 characters long"},

	{kind: models.CaseKindTriggerQuery, field: "query", value: `7`, message: "must be a string"},
	{kind: models.CaseKindTriggerQuery, field: "query", value: `""`, message: "must not be empty"},
	{kind: models.CaseKindTriggerQuery, field: "query", value: `" \n"`, message: "must not be empty"},
	{kind: models.CaseKindTriggerQuery, field: "expectation", value: `true`, message: "must be a string"},
	{kind: models.CaseKindTriggerQuery, field: "expectation", value: `"SHOULD_TRIGGER"`, message: "must be one of should_not_trigger, should_trigger"},
	{kind: models.CaseKindTriggerQuery, field: "invocation_type", value: `[]`, message: "must be a string"},

	{kind: models.CaseKindLLMRubric, field: "prompt", value: `{}`, message: "must be a string"},
	{kind: models.CaseKindLLMRubric, field: "prompt", value: `""`, message: "must not be empty"},
	{kind: models.CaseKindLLMRubric, field: "rubric", value: `7`, message: "must be a string or a list of strings"},
	{kind: models.CaseKindLLMRubric, field: "rubric", value: `["a",7]`, message: "must be a string or a list of strings"},
	{kind: models.CaseKindLLMRubric, field: "rubric", value: `""`, message: "must not be empty"},
	{kind: models.CaseKindLLMRubric, field: "rubric", value: `[]`, message: "must not be empty"},
	{kind: models.CaseKindLLMRubric, field: "rubric", value: `["a",""]`, message: "must not be empty"},
	{kind: models.CaseKindLLMRubric, field: "rubric", value: `["a"," "]`, message: "must not be empty"},
	{kind: models.CaseKindLLMRubric, field: "rubric", value: `[null]`, message: "must not be empty"},
	{kind: models.CaseKindLLMRubric, field: "threshold", value: `"0.5"`, message: "must be a number"},
	{kind: models.CaseKindLLMRubric, field: "threshold", value: `1.0001`, message: "must be between 0 and 1"},
	{kind: models.CaseKindLLMRubric, field: "threshold", value: `-0.1`, message: "must be between 0 and 1"},
	{kind: models.CaseKindLLMRubric, field: "threshold", value: `1e999`, message: "must be a number"},

	{kind: models.CaseKindExactMatch, field: "input", value: `7`, message: "must be a string"},
	{kind: models.CaseKindExactMatch, field: "input", value: `""`, message: "must not be empty"},
	{kind: models.CaseKindExactMatch, field: "expected", value: `7`, message: "must be a string"},
	{kind: models.CaseKindExactMatch, field: "case_sensitive", value: `"true"`, message: "must be true or false"},
	{kind: models.CaseKindExactMatch, field: "trim", value: `1`, message: "must be true or false"},

	{kind: models.CaseKindJSONSchema, field: "input", value: `["i"]`, message: "must be a string"},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `{"type":"strin"}`, message: "is not a usable JSON Schema: at '/type': value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `"{}"`, message: "is not a usable JSON Schema: at '': got string, want boolean or object"},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `{"properties":{"a":{"pattern":"("}}}`, message: "is not a usable JSON Schema: at '/properties/a/pattern': '(' is not valid regex: error parsing regexp: missing closing ): `(`"},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `{"$ref":"#/$defs/none"}`, message: `is not a usable JSON Schema: json-pointer in "#/$defs/none" not found`},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `{"$ref":"http://example.com/s.json"}`, message: `is not a usable JSON Schema: failing loading "http://example.com/s.json": references to other documents are not followed`},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `{"$ref":"file:///etc/passwd"}`, message: `is not a usable JSON Schema: failing loading "file:///etc/passwd": references to other documents are not followed`},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `{"$schema":"https://example.com/meta"}`, message: `is not a usable JSON Schema: failing loading "https://example.com/meta": references to other documents are not followed`},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `{"properties":{"a":{"$ref":"other.json"}}}`, message: `is not a usable JSON Schema: failing loading "/other.json": references to other documents are not followed`},
	{kind: models.CaseKindJSONSchema, field: "schema", value: `{"$id":"http://example.com/s","$ref":"t"}`, message: `is not a usable JSON Schema: failing loading "http://example.com/t": references to other documents are not followed`},

	{kind: models.CaseKindBooleanAssertion, field: "input", value: `""`, message: "must not be empty"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `7`, message: "must be an object"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `[]`, message: "must be an object"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `""`, message: "must not be empty"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"value":"v"}`, message: "is required", at: "assertion.type"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"type":"equals","value":"v"}`, message: "must be one of contains, json_path, not_contains, regex", at: "assertion.type"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"type":"sentence","value":"v"}`, message: "must be one of contains, json_path, not_contains, regex", at: "assertion.type"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"Type":"regex","value":"v"}`, message: "is required", at: "assertion.type"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"type":"contains"}`, message: "is required", at: "assertion.value"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"type":"contains","value":""}`, message: "must not be empty", at: "assertion.value"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"type":"contains","value":7}`, message: "must be a string", at: "assertion.value"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"type":"regex","value":"a("}`, message: "is not a regular expression: missing closing ): `a(`", at: "assertion.value"},
	{kind: models.CaseKindBooleanAssertion, field: "assertion", value: `{"type":"json_path","value":"a.b"}`, message: "must be a JSON path, which begins with $", at: "assertion.value"},
	{kind: models.CaseKindBooleanAssertion, field: "expected", value: `"true"`, message: "must be true or false"},

	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `7`, message: "must be a string"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `""`, message: "must not be empty"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"env.tgz"`, message: "must be an http(s) URL or an object-store URI such as s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"https://"`, message: "must be an http(s) URL or an object-store URI such as s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"https://:80/env.tgz"`, message: "must be an http(s) URL or an object-store URI such as s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"https://a b/c"`, message: "must be an http(s) URL or an object-store URI such as s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"https://example.com/a b"`, message: "must be an http(s) URL or an object-store URI such as s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"file:///etc/passwd"`, message: "must be an http(s) URL or an object-store URI such as s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"file://host/etc/passwd"`, message: "must begin with http, https or an object store's scheme such as s3 or gs"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"data:text/plain,x"`, message: "must be an http(s) URL or an object-store URI such as s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"ftp://example.com/x"`, message: "must begin with http, https or an object store's scheme such as s3 or gs"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"s3://bucket"`, message: "must name an object: s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"gs://bucket//"`, message: "must name an object: gs://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "environment_ref", value: `"s3:///key"`, message: "must be an http(s) URL or an object-store URI such as s3://bucket/key"},
	{kind: models.CaseKindTaskPackage, field: "instruction", value: `7`, message: "must be a string"},
	{kind: models.CaseKindTaskPackage, field: "verifier_ref", value: `7`, message: "must be a string"},
	{kind: models.CaseKindTaskPackage, field: "verifier_ref", value: `""`, message: "must be a relative path inside the archive"},
	{kind: models.CaseKindTaskPackage, field: "verifier_ref", value: `"/tests/test.sh"`, message: "must be a relative path inside the archive"},
	{kind: models.CaseKindTaskPackage, field: "skill_bundle_ref", value: `"a/../../b"`, message: "must be a relative path inside the archive"},
	{kind: models.CaseKindTaskPackage, field: "oracle_ref", value: `"..\\b"`, message: "must be a relative path inside the archive"},
	{kind: models.CaseKindTaskPackage, field: "resource_hints", value: `[]`, message: "must be an object"},
	{kind: models.CaseKindTaskPackage, field: "resource_hints", value: `"x"`, message: "must be an object"},
	{kind: models.CaseKindTaskPackage, field: "resource_hints", value: `{"working_dir":7}`, message: "must be a string", at: "resource_hints.working_dir"},
	{kind: models.CaseKindTaskPackage, field: "resource_hints", value: `{"timeout_ms":"7"}`, message: "must be a number of milliseconds", at: "resource_hints.timeout_ms"},
	{kind: models.CaseKindTaskPackage, field: "resource_hints", value: `{"timeout_ms":-1}`, message: "must not be negative", at: "resource_hints.timeout_ms"},
}

func TestBadFields(t *testing.T) {
	t.Parallel()
	for _, row := range badFields {
		at := row.at
		if at == "" {
			at = row.field
		}
		_, _, err := parse(models.VerifierKindStructuredRubric, minimalCases[models.CaseKindExactMatch], with(t, fullCases[row.kind], row.field, row.value))
		require.Error(t, err, "%s %s: %s", row.kind, row.field, row.value)
		requireRefused(t, err, row.message, append([]string{"casesJson", "1"}, strings.Split(at, ".")...)...)
	}
}

// with changes one field of a case, or takes it away.
func with(t *testing.T, object, field, value string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(object), &fields))
	if value == "" {
		delete(fields, field)
	} else {
		fields[field] = json.RawMessage(value)
	}
	out, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(out)
}

func TestRequiredFields(t *testing.T) {
	t.Parallel()
	required := map[models.CaseKind][]string{
		models.CaseKindTriggerQuery:     {"case_kind", "query", "expectation"},
		models.CaseKindLLMRubric:        {"case_kind", "prompt", "rubric"},
		models.CaseKindExactMatch:       {"case_kind", "input", "expected"},
		models.CaseKindJSONSchema:       {"case_kind", "input", "schema"},
		models.CaseKindBooleanAssertion: {"case_kind", "input", "assertion"},
		models.CaseKindTaskPackage:      {"case_kind", "environment_ref"},
	}
	for kind, fields := range required {
		for _, field := range fields {
			for _, value := range []string{"", "null"} {
				_, _, err := parse(models.VerifierKindStructuredRubric, with(t, fullCases[kind], field, value))
				require.Error(t, err, "%s without %s", kind, field)
				requireRefused(t, err, "is required", "casesJson", "0", field)
			}
			other := strings.ToUpper(field[:1]) + field[1:]
			renamed := strings.Replace(fullCases[kind], `"`+field+`":`, `"`+other+`":`, 1)
			require.NotEqual(t, fullCases[kind], renamed)
			_, _, err := parse(models.VerifierKindStructuredRubric, renamed)
			require.Error(t, err, "%s with %s", kind, other)
			requireRefused(t, err, "is required", "casesJson", "0", field)
		}
	}
}

// What may be left out may be null as well, but for the id.
func TestOptionalFieldsMayBeNull(t *testing.T) {
	t.Parallel()
	optional := map[models.CaseKind][]string{
		models.CaseKindTriggerQuery:     {"name", "invocation_type"},
		models.CaseKindLLMRubric:        {"threshold"},
		models.CaseKindExactMatch:       {"case_sensitive", "trim"},
		models.CaseKindBooleanAssertion: {"expected"},
		models.CaseKindTaskPackage:      {"instruction", "verifier_ref", "skill_bundle_ref", "oracle_ref", "resource_hints"},
	}
	for kind, fields := range optional {
		for _, field := range fields {
			omitted, _, err := parse(models.VerifierKindStructuredRubric, with(t, fullCases[kind], field, ""))
			require.NoError(t, err, "%s without %s", kind, field)
			null, _, err := parse(models.VerifierKindStructuredRubric, with(t, fullCases[kind], field, "null"))
			require.NoError(t, err, "%s with %s null", kind, field)
			require.Equal(t, omitted, null, "%s.%s", kind, field)
		}
	}
}

func TestGoodFields(t *testing.T) {
	t.Parallel()
	good := []struct {
		kind         models.CaseKind
		field, value string
	}{
		{models.CaseKindTriggerQuery, "id", `"` + strings.Repeat("é", 128) + `"`},
		{models.CaseKindTriggerQuery, "name", `""`},
		{models.CaseKindTriggerQuery, "name", `"` + strings.Repeat("é", 200) + `"`},
		{models.CaseKindTriggerQuery, "query", `"two\nlines"`},
		{models.CaseKindLLMRubric, "threshold", `0`},
		{models.CaseKindLLMRubric, "threshold", `1`},
		{models.CaseKindLLMRubric, "threshold", `1e-3`},
		{models.CaseKindJSONSchema, "schema", `false`},
		{models.CaseKindJSONSchema, "schema", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`},
		{models.CaseKindJSONSchema, "schema", `{"properties":{"child":{"$ref":"#"}}}`},
		{models.CaseKindJSONSchema, "schema", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"string"}`},
		{models.CaseKindJSONSchema, "schema", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/mine","$ref":"#/$defs/a","$defs":{"a":true}}`},
		{models.CaseKindBooleanAssertion, "assertion", `{"type":"not_contains","value":"("}`},
		{models.CaseKindBooleanAssertion, "assertion", `{"type":"regex","value":"^a+$"}`},
		{models.CaseKindBooleanAssertion, "assertion", `{"type":"json_path","value":"$.a"}`},
		{models.CaseKindTaskPackage, "environment_ref", `"http://example.com"`},
		{models.CaseKindTaskPackage, "environment_ref", `"HTTPS://example.com:8443/a.tgz?x=1#y"`},
		{models.CaseKindTaskPackage, "environment_ref", `"gs://bucket/a/b.tgz"`},
		{models.CaseKindTaskPackage, "verifier_ref", `"./tests/run.sh"`},
		{models.CaseKindTaskPackage, "resource_hints", `{}`},
		{models.CaseKindTaskPackage, "resource_hints", `{"timeout_ms":1.5,"working_dir":null,"more":[1]}`},
	}
	for _, row := range good {
		_, _, err := parse(models.VerifierKindStructuredRubric, with(t, fullCases[row.kind], row.field, row.value))
		require.NoError(t, err, "%s %s: %s", row.kind, row.field, row.value)
	}
}
