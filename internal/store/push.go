package store

import (
	"context"
	"maps"
	"slices"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Push stores a delivery of telemetry and brings every rollup up to date, or does neither. Deliveries of one
// organization wait for each other: each is a handful of statements, whatever its size.
func (o Org) Push(ctx context.Context, p *models.Push) (*models.PushTelemetryPayload, error) {
	return inTx(ctx, o, func(o Org) (*models.PushTelemetryPayload, error) {
		if err := o.lockTelemetry(ctx); err != nil {
			return nil, err
		}
		fresh, err := exec(ctx, o.pg, "INSERT INTO pushes (org_id, push_id, received_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", o.id, p.ID, o.now())
		if err != nil {
			return nil, err
		}
		if fresh == 0 {
			return models.RepeatedPush(p.ID), nil
		}
		w := &writer{Org: o, horizon: models.NewHorizon(o.now(), o.store.options.Retention), receipt: models.NewPush(p.ID), touched: map[string]bool{}}
		if err := w.write(ctx, &p.Canonical); err != nil {
			return nil, err
		}
		if err := o.roll(ctx, w.sessions()); err != nil {
			return nil, err
		}
		return w.receipt, o.noteSessions(ctx, w.mentioned())
	})
}

// lockTelemetry makes writers of one organization's telemetry wait for each other, so that they cannot deadlock and
// rollups are read and written by one at a time.
func (o Org) lockTelemetry(ctx context.Context) error {
	_, err := exec(ctx, o.pg, "SELECT pg_advisory_xact_lock(hashtextextended('telemetry ' || $1::uuid::text, 0))", o.id)
	return err
}

// writer writes the records of a push.
type writer struct {
	Org
	horizon models.Horizon
	receipt *models.PushTelemetryPayload
	skills  map[string]ids.ID
	touched map[string]bool // the sessions that records belong to; true: their rollups may change
}

func (w *writer) touch(session string) { w.touched[session] = true }

// mention is for a session whose rollups stay as they are.
func (w *writer) mention(session string) {
	if !w.touched[session] {
		w.touched[session] = false
	}
}

// sessions are those whose rollups may change.
func (w *writer) sessions() []string {
	return slices.DeleteFunc(w.mentioned(), func(s string) bool { return !w.touched[s] })
}

func (w *writer) mentioned() []string { return slices.Sorted(maps.Keys(w.touched)) }

func (w *writer) write(ctx context.Context, c *models.Canonical) (err error) {
	if w.skills, err = w.nameSkills(ctx, c); err != nil {
		return err
	}
	for _, step := range []func(context.Context, *models.Canonical) error{w.putSessions, w.putPrompts, w.putInvocations, w.putFacts, w.putGradings, w.putSignals} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// put sends the columns of a kind of record in one statement and counts what became of them. n is how many records
// the client sent, kept how many are left after the horizon and after copies were folded into one.
func (w *writer) put(ctx context.Context, n, ignored, kept int, accepted *int, sql string, columns ...any) error {
	w.receipt.Ignored += ignored
	if kept == 0 {
		w.receipt.Duplicates += n - ignored
		return nil
	}
	stored, err := exec(ctx, w.pg, sql, append([]any{w.id}, columns...)...)
	*accepted = int(stored)
	w.receipt.Duplicates += n - ignored - int(stored)
	return err
}

// nameSkills finds the skills that the records name, and makes those that nobody named before. Records that are
// ignored name nothing.
func (w *writer) nameSkills(ctx context.Context, c *models.Canonical) (map[string]ids.ID, error) {
	names := map[string]bool{}
	for i := range c.Invocations {
		if r := &c.Invocations[i]; w.horizon.Has(r.OccurredAt) {
			names[r.SkillName] = true
		}
	}
	for i := range c.Gradings {
		if r := &c.Gradings[i]; w.horizon.Has(r.GradedAt) {
			names[r.SkillName] = true
		}
	}
	for i := range c.Signals {
		if r := &c.Signals[i]; r.MentionedSkill != nil && *r.MentionedSkill != "" && w.horizon.Has(r.OccurredAt) {
			names[*r.MentionedSkill] = true
		}
	}
	list := make([]string, 0, len(names))
	for n := range names {
		list = append(list, n)
	}
	return w.skillIDs(ctx, list)
}

// skillIDs finds or makes skills by name.
func (o Org) skillIDs(ctx context.Context, names []string) (map[string]ids.ID, error) {
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	now := o.now()
	made := make([]ids.ID, len(names))
	for i := range made {
		made[i] = ids.New(ids.Skill, now)
	}
	if _, err := exec(ctx, o.pg, `INSERT INTO skills (org_id, id, name, created_at)
		SELECT $1, n.id, n.name, $4 FROM unnest($2::uuid[], $3::text[]) AS n(id, name) ON CONFLICT (org_id, name) DO NOTHING`, o.id, made, names, now); err != nil {
		return nil, err
	}
	type row struct {
		ID   ids.ID `bun:"id"`
		Name string `bun:"name"`
	}
	rows, err := query[row](ctx, o.pg, "SELECT t.id, t.name FROM skills t WHERE t.org_id = $1 AND t.name = ANY($2)", o.id, names)
	out := make(map[string]ids.ID, len(rows))
	for _, r := range rows {
		out[r.Name] = r.ID
	}
	return out, err
}
