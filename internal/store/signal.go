package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// This file and the view signal_figures are all that names the tables raw_signal*; who wants a figure asks the view.

// AddSignals stores signals and brings every sum up to date, or does neither. Writers may come at once, with the same
// signals in any order: all lock rows of the same tables in the same order.
func (o Org) AddSignals(ctx context.Context, signals []*models.Signal) (*models.SubmitSignalsPayload, error) {
	batch, err := o.prepare(ctx, signals)
	if err != nil {
		return nil, err
	}
	return inTx(ctx, o, func(o Org) (*models.SubmitSignalsPayload, error) {
		fresh, err := o.insertSignals(ctx, batch)
		if err != nil {
			return nil, err
		}
		out := &models.SubmitSignalsPayload{Status: "accepted", Accepted: len(fresh), Duplicates: len(signals) - len(fresh)}
		cells := models.Cells(fresh)
		if len(cells) == 0 {
			return out, nil
		}
		if err := o.addCells(ctx, cells); err != nil {
			return nil, err
		}
		return out, o.proposeSoon(ctx)
	})
}

// prepare folds copies into one, gives each signal its hour and its cohort, and puts them in the order of their keys.
func (o Org) prepare(ctx context.Context, signals []*models.Signal) ([]*models.Signal, error) {
	now := o.now()
	horizon := models.NewHorizon(now, o.store.options.Retention)
	seen := make(map[string]bool, len(signals))
	batch := make([]*models.Signal, 0, len(signals))
	for _, s := range signals {
		if seen[s.SourceKey] {
			continue
		}
		seen[s.SourceKey] = true
		s.Settle(now, horizon)
		words := []string{"sender", o.id.String(), o.actor.String()}
		if s.UserCohort != nil {
			words = []string{"cohort", o.id.String(), *s.UserCohort}
		}
		hash, err := o.store.keyed(ctx, words...)
		if err != nil {
			return nil, err
		}
		s.Cohort = hash[:16]
		batch = append(batch, s)
	}
	slices.SortFunc(batch, func(a, b *models.Signal) int { return strings.Compare(a.SourceKey, b.SourceKey) })
	return batch, nil
}

// insertSignals returns those that were new.
func (o Org) insertSignals(ctx context.Context, batch []*models.Signal) (fresh []*models.Signal, err error) {
	type S = models.Signal
	type row struct {
		SourceKey string `bun:"source_key"`
	}
	rows, err := query[row](ctx, o.pg, `INSERT INTO raw_signals (org_id, received_on, source_key, skill_name, signal_type, cohort, confidence, triggered, missed, query_bucket, hour)
		SELECT $1, $2, r.* FROM unnest($3::text[], $4::text[], $5::text[], $6::bytea[], $7::double precision[], $8::boolean[], $9::boolean[], $10::text[], $11::timestamptz[]) AS r
		ON CONFLICT (org_id, source_key) DO NOTHING RETURNING source_key`, o.id, o.store.today(),
		column(batch, func(s *S) string { return s.SourceKey }),
		column(batch, func(s *S) *string { return s.SkillName }),
		column(batch, func(s *S) string { return s.SignalType }),
		column(batch, func(s *S) []byte { return s.Cohort }),
		column(batch, func(s *S) *float64 { return s.Confidence }),
		column(batch, func(s *S) *bool { return s.Triggered }),
		column(batch, func(s *S) bool { return s.Missed }),
		column(batch, func(s *S) *string { return s.QueryBucket }),
		column(batch, func(s *S) *time.Time { return s.Hour }))
	inserted := make(map[string]bool, len(rows))
	for _, r := range rows {
		inserted[r.SourceKey] = true
	}
	for _, s := range batch {
		if inserted[s.SourceKey] {
			fresh = append(fresh, s)
		}
	}
	return fresh, err
}

// addCells adds to the sums, and counts the cohorts that a cell did not have before.
func (o Org) addCells(ctx context.Context, cells map[models.CellKey]*models.CellSums) error {
	keys := make([]models.CellKey, 0, len(cells))
	for k := range cells {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, models.CellKey.Compare)
	joined, err := o.joinCohorts(ctx, keys, cells)
	if err != nil {
		return err
	}
	sums := make([]*models.CellSums, len(keys))
	counts := make([]int, len(keys))
	for i, k := range keys {
		sums[i], counts[i] = cells[k], joined[k]
	}
	type C = models.CellSums
	dimensions, skills, types, labels := cellColumns(keys)
	_, err = exec(ctx, o.pg, `INSERT INTO raw_signal_cells AS t (org_id, dimension, skill_name, signal_type, label, cohorts, signals, told, triggered, missed, confidence, first_at, last_at)
		SELECT $1, r.* FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::timestamptz[], $13::timestamptz[]) AS r
		ON CONFLICT (org_id, dimension, skill_name, signal_type, label) DO UPDATE SET cohorts = t.cohorts + excluded.cohorts, signals = t.signals + excluded.signals,
			told = t.told + excluded.told, triggered = t.triggered + excluded.triggered, missed = t.missed + excluded.missed, confidence = t.confidence + excluded.confidence,
			first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at)`,
		o.id, dimensions, skills, types, labels, counts,
		column(sums, func(c *C) int { return c.Signals }),
		column(sums, func(c *C) int { return c.Told }),
		column(sums, func(c *C) int { return c.Triggered }),
		column(sums, func(c *C) int { return c.Missed }),
		column(sums, func(c *C) int { return c.Confidence }),
		column(sums, func(c *C) time.Time { return c.FirstAt }),
		column(sums, func(c *C) time.Time { return c.LastAt }))
	return err
}

// joinCohorts writes which cohorts are in which cells, and counts the new ones.
func (o Org) joinCohorts(ctx context.Context, keys []models.CellKey, cells map[models.CellKey]*models.CellSums) (map[models.CellKey]int, error) {
	type row struct {
		Dimension  string `bun:"dimension"`
		SkillName  string `bun:"skill_name"`
		SignalType string `bun:"signal_type"`
		Label      string `bun:"label"`
	}
	var in []models.CellKey
	var cohorts [][]byte
	for _, k := range keys {
		names := make([]string, 0, len(cells[k].Cohorts))
		for c := range cells[k].Cohorts {
			names = append(names, c)
		}
		slices.Sort(names)
		for _, c := range names {
			in, cohorts = append(in, k), append(cohorts, []byte(c))
		}
	}
	dimensions, skills, types, labels := cellColumns(in)
	rows, err := query[row](ctx, o.pg, `INSERT INTO raw_signal_cohorts (org_id, dimension, skill_name, signal_type, label, cohort)
		SELECT $1, r.* FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) AS r
		ON CONFLICT DO NOTHING RETURNING dimension, skill_name, signal_type, label`, o.id, dimensions, skills, types, labels, cohorts)
	out := make(map[models.CellKey]int, len(rows))
	for _, r := range rows {
		out[models.CellKey(*r)]++
	}
	return out, err
}

func cellColumns(keys []models.CellKey) (dimensions, skills, types, labels []string) {
	for _, k := range keys {
		dimensions, skills, types, labels = append(dimensions, k.Dimension), append(skills, k.SkillName), append(types, k.SignalType), append(labels, k.Label)
	}
	return dimensions, skills, types, labels
}

// pruneSignals deletes signals that are older than the retention; the sums stay.
const pruneSignals = "DELETE FROM raw_signals WHERE (org_id, source_key) IN (SELECT org_id, source_key FROM raw_signals WHERE received_on < $1::timestamptz::date LIMIT $2)"

// ProposeJob draws proposals from an organization's signals.
type ProposeJob struct {
	OrgID ids.ID `json:"org_id"`
}

// Kind names the job in the queue.
func (ProposeJob) Kind() string { return "propose" }

// proposeSoon makes sure that a job looks at the signals after this transaction. At most one waits for each organization: who
// makes the row enqueues it. The job deletes the row before it reads, and waits for those who hold it until they are done.
func (o Org) proposeSoon(ctx context.Context) error {
	type row struct {
		Made bool `bun:"made"`
	}
	rows, err := query[row](ctx, o.pg, `INSERT INTO proposals_due (org_id) VALUES ($1)
		ON CONFLICT (org_id) DO UPDATE SET org_id = excluded.org_id RETURNING xmax = 0 AS made`, o.id)
	if err != nil || !rows[0].Made {
		return err
	}
	return o.enqueue(ctx, ProposeJob{OrgID: o.id})
}
