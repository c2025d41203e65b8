package store

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// dataset is what can be exported: rows in the order of a key that never changes, so that whoever knows the last row that
// arrived can go on from there.
type dataset struct {
	from   string
	where  string // besides the organization
	key    []keyColumn
	at     string // what since and until are about
	skill  string // the condition on the skill, which is ?
	fields []field
}

// keyColumn is a part of the key, and how its text is read.
type keyColumn struct {
	sql   string
	parse func(string) (any, error)
}

// field is one of every row. The first one is the key as text.
type field struct {
	name string
	kind kind
	sql  string
}

// Quotients of the sums of a rollup, as the graph makes them.
const (
	triggerRate   = "x.triggered_sessions::float8 / nullif(x.sessions, 0)"
	coverage      = "x.scored::float8 / nullif(x.triggers, 0)"
	avgConfidence = "x.confidence::float8 / (1e9::float8 * nullif(x.scored, 0))"
	meanPassRate  = "x.rate::float8 / (1e9::float8 * nullif(x.graded, 0))"
)

var datasets = map[string]dataset{
	"skills": {
		from: `skills t CROSS JOIN LATERAL (SELECT sum(d.sessions) AS sessions, sum(d.triggered_sessions) AS triggered_sessions, sum(d.triggers) AS triggers, sum(d.scored) AS scored, sum(d.confidence) AS confidence
			FROM skill_days d WHERE d.org_id = t.org_id AND d.skill_id = t.id AND d.day > ?today::date - 30) x`,
		key: []keyColumn{{"t.id", anID}}, at: "t.last_seen_at", skill: "t.id = ?",
		fields: []field{
			{"skill_id", uuid, "t.id"},
			{"name", text, "t.name"},
			{"status", text, "lower(t.status)"},
			{"first_seen_at", instant, "t.first_seen_at"},
			{"last_seen_at", instant, "t.last_seen_at"},
			{"unique_sessions", whole, "t.unique_sessions"},
			{"has_evidence", flag, "t.graded_sessions > 0"},
			{"trigger_rate", share, triggerRate},
			{"avg_confidence", share, avgConfidence},
			{"confidence_coverage", share, coverage},
			{"pass_rate", share, "t.pass_rate"},
			{"created_at", instant, "t.created_at"},
		},
	},
	"daily-stats": {
		from: "skill_days x JOIN skills s ON s.org_id = x.org_id AND s.id = x.skill_id", where: "(x.sessions > 0 OR x.graded > 0)",
		key: []keyColumn{{"x.skill_id", anID}, {"x.day", aDay}}, at: "x.day", skill: "x.skill_id = ?",
		fields: []field{
			{"key", text, "x.skill_id || '/' || x.day"},
			{"skill_id", uuid, "x.skill_id"},
			{"skill_name", text, "s.name"},
			{"date", day, "x.day"},
			{"sessions", whole, "x.sessions"},
			{"triggered_sessions", whole, "x.triggered_sessions"},
			{"trigger_rate", share, triggerRate},
			{"graded", whole, "x.graded"},
			{"passed", whole, "x.passed"},
			{"pass_rate", share, meanPassRate},
			{"avg_confidence", share, avgConfidence},
		},
	},
	"sessions": {
		from: "sessions t",
		key:  []keyColumn{{"t.session_id", aText}}, at: "coalesce(t.started_at, t.received_at)",
		skill: "EXISTS (SELECT FROM session_skills k WHERE k.org_id = t.org_id AND k.session_id = t.session_id AND k.skill_id = ?)",
		fields: []field{
			{"session_id", text, "t.session_id"},
			{"platform", text, "t.platform"},
			{"agent_type", text, "t.agent_type"},
			{"model", text, "t.model"},
			{"provider", text, "t.provider"},
			{"started_at", instant, "t.started_at"},
			{"ended_at", instant, "t.ended_at"},
			{"completion_status", text, "t.completion_status"},
			{"received_at", instant, "t.received_at"},
		},
	},
	"invocations": {
		from: "invocations t JOIN skills s ON s.org_id = t.org_id AND s.id = t.skill_id",
		key:  []keyColumn{{"t.invocation_id", aText}}, at: "t.occurred_at", skill: "t.skill_id = ?",
		fields: []field{
			{"skill_invocation_id", text, "t.invocation_id"},
			{"session_id", text, "t.session_id"},
			{"skill_id", uuid, "t.skill_id"},
			{"skill_name", text, "s.name"},
			{"occurred_at", instant, "t.occurred_at"},
			{"triggered", flag, "t.triggered"},
			{"confidence", share, "t.confidence"},
			{"invocation_mode", text, "t.invocation_mode"},
			{"matched_prompt_id", text, "t.matched_prompt_id"},
			{"skill_version_hash", text, "t.version_hash"},
		},
	},
	"versions": {
		from: `registry_versions t JOIN registry_entries e ON e.org_id = t.org_id AND e.id = t.entry_id
			CROSS JOIN LATERAL (SELECT coalesce(sum(b.sessions), 0) AS sessions, sum(b.graded) AS graded, sum(b.rate) AS rate
				FROM skill_breakdowns b WHERE b.org_id = t.org_id AND b.skill_id = e.skill_id AND b.dimension = 'VERSION' AND b.value = ANY(t.hashes)) x`,
		key: []keyColumn{{"t.id", anID}}, at: "t.pushed_at", skill: "e.skill_id = ?",
		fields: []field{
			{"id", uuid, "t.id"},
			{"entry_id", uuid, "t.entry_id"},
			{"name", text, "e.name"},
			{"version", text, "t.version"},
			{"content_hash", text, "t.content_hash"},
			{"is_current", flag, "coalesce(e.current_version_id = t.id, false)"},
			{"rolled_back", flag, "t.rolled_back"},
			{"aggregate_pass_rate", share, meanPassRate},
			{"aggregate_sessions", whole, "x.sessions"},
			{"change_summary", text, "t.change_summary"},
			{"file_manifest", document, "t.files"},
			{"source", text, "lower(replace(t.source, '_', '-'))"},
			{"source_ref", text, "t.source_ref"},
			{"source_repo", text, "t.source_repo"},
			{"revoked_at", instant, "t.revoked_at"},
			{"revoke_reason", text, "t.revoke_reason"},
			{"pushed_at", instant, "t.pushed_at"},
		},
	},
	"suggestions": {
		from: `eval_suggestions t JOIN cloud_sources c ON c.org_id = t.org_id AND c.id = t.source_id
			LEFT JOIN suggestion_reviews r ON r.org_id = t.org_id AND r.source_id = t.source_id AND r.suggestion_id = t.id`,
		where: "t.query <> ''",
		key:   []keyColumn{{"t.id", anID}}, at: "t.last_observed_at", skill: "c.skill_id = ?",
		fields: []field{
			{"id", uuid, "t.id"},
			{"source_id", text, "'src_' || t.source_id"},
			{"skill_id", uuid, "c.skill_id"},
			{"query", text, "t.query"},
			{"should_trigger", flag, "t.should_trigger"},
			{"source", text, "CASE WHEN t.provenance IN ('RUN_FAILURE', 'RUN_REGRESSION') THEN 'hosted_run' ELSE 'linked_telemetry' END"},
			{"provenance", text, "lower(t.provenance)"},
			{"observed_count", whole, "t.observed_count"},
			{"handled_count", whole, "t.good"},
			{"confidence", share, "t.confidence"},
			{"last_observed_at", instant, "t.last_observed_at"},
			{"invocation_type", text, "t.invocation_type"},
			{"review_status", text, "coalesce(lower(r.review_status), 'pending')"},
			{"accept_target", text, "lower(r.accept_target)"},
			{"applied_suite_id", uuid, "r.applied_suite_id"},
			{"reviewed_at", instant, "r.reviewed_at"},
			{"created_at", instant, "t.created_at"},
		},
	},
}

// Datasets are the names of what can be exported.
func Datasets() []string { return slices.Sorted(maps.Keys(datasets)) }

func anID(s string) (any, error) { return ids.Parse(s) }

func aDay(s string) (any, error) { return time.Parse(time.DateOnly, s) }

func aText(s string) (any, error) {
	if s == "" || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return nil, errs.New(errs.Invalid, "is no text")
	}
	return s, nil
}

// Export writes all rows of a dataset and counts them. They pass through one by one, from PostgreSQL's own COPY. Everything is of one moment. The time limit of statements does not hold: ctx and w say when to stop.
func (o Org) Export(ctx context.Context, in models.Export, w io.Writer) (rows int64, err error) {
	sql, err := o.exportSQL(ctx, in)
	if err != nil {
		return 0, err
	}
	conn, err := o.store.pool.Acquire(ctx)
	if err != nil {
		return 0, fail(ctx, err)
	}
	defer conn.Release()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return 0, fail(ctx, err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// There is an index in the order of every key: to sort would only delay the first row, and fill disks.
	if _, err := tx.Exec(ctx, "SELECT set_config('statement_timeout', '0', true), set_config('enable_sort', 'off', true)"); err != nil {
		return 0, fail(ctx, err)
	}
	tag, err := conn.Conn().PgConn().CopyTo(ctx, &lines{fields: datasets[in.Dataset].fields, csv: in.CSV, header: in.After == "", w: w}, sql)
	return tag.RowsAffected(), fail(ctx, err)
}

// exportSQL is the statement of an export. COPY takes no arguments, so bun writes them into its text.
func (o Org) exportSQL(ctx context.Context, in models.Export) (string, error) {
	d, ok := datasets[in.Dataset]
	if !ok {
		return "", errs.New(errs.NotFound, "There is no export of %q: there are %s", in.Dataset, strings.Join(Datasets(), ", "))
	}
	where, args, err := o.exportFilter(ctx, d, in)
	if err != nil {
		return "", err
	}
	fields, order := make([]string, len(d.fields)), make([]string, len(d.key))
	for i, f := range d.fields {
		fields[i] = "(" + f.sql + ")::" + f.kind.sql
	}
	for i, k := range d.key {
		order[i] = k.sql
	}
	from := strings.Replace(d.from, "?today", o.store.today().Format("'"+time.DateOnly+"'"), 1)
	sql := "COPY (SELECT " + strings.Join(fields, ", ") + " FROM " + from + " WHERE " + strings.Join(where, " AND ") +
		" ORDER BY " + strings.Join(order, ", ") + ") TO STDOUT WITH (FORMAT binary)"
	return o.store.db.QueryGen().FormatQuery(sql, args...), nil
}

func (o Org) exportFilter(ctx context.Context, d dataset, in models.Export) (where []string, args []any, err error) {
	add := func(sql string, values ...any) { where, args = append(where, sql), append(args, values...) }
	alias, _, _ := strings.Cut(d.key[0].sql, ".")
	add(alias+".org_id = ?", o.id)
	if d.where != "" {
		add(d.where)
	}
	if !in.Since.IsZero() {
		add(d.at+" >= ?::timestamptz", in.Since)
	}
	if !in.Until.IsZero() {
		add(d.at+" < ?::timestamptz", in.Until)
	}
	if in.Skill != "" {
		key, err := models.NewSkillKey(nil, nil, &in.Skill)
		if err != nil {
			return nil, nil, err
		}
		skill, err := o.Skill(ctx, key)
		if err != nil {
			return nil, nil, err
		}
		add(d.skill, skill.ID)
	}
	if in.After != "" {
		parts := strings.SplitN(in.After, "/", len(d.key))
		columns, values := make([]string, len(d.key)), make([]any, len(d.key))
		for i, k := range d.key {
			columns[i] = k.sql
			if len(parts) != len(d.key) {
				return nil, nil, badAfter(d)
			}
			if values[i], err = k.parse(parts[i]); err != nil {
				return nil, nil, badAfter(d)
			}
		}
		add("("+strings.Join(columns, ", ")+") > (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	return where, args, nil
}

func badAfter(d dataset) error {
	return errs.At("after").Because("must be the %s of the last row that you have", d.fields[0].name)
}
