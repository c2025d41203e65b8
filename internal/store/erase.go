package store

import (
	"context"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// eraseBatch is how many sessions are erased with one round of statements.
const eraseBatch = 1000

// EraseSession deletes everything that telemetry has of a session, also when the session itself never arrived, and
// brings every rollup up to date, or does neither.
func (o Org) EraseSession(ctx context.Context, session string) (*models.PushCounts, error) {
	return inTx(ctx, o, func(o Org) (*models.PushCounts, error) {
		if err := o.lockTelemetry(ctx); err != nil {
			return nil, err
		}
		erased, err := o.erase(ctx, []string{session})
		if err != nil {
			return nil, err
		}
		return erased, o.tellErased(ctx, "telemetry.session_erased", o.id, erased)
	})
}

// EraseUser is EraseSession for every session that a member was the first to push.
func (o Org) EraseUser(ctx context.Context, user ids.ID) (*models.User, *models.PushCounts, error) {
	var who *models.User
	total, err := inTx(ctx, o, func(o Org) (*models.PushCounts, error) {
		found, err := o.UsersByID(ctx, []ids.ID{user})
		if who, err = orNotFound(found[user], err, ids.User, user); err != nil {
			return nil, err
		}
		if err := o.lockTelemetry(ctx); err != nil {
			return nil, err
		}
		total := &models.PushCounts{}
		for {
			sessions, err := o.sessionsOf(ctx, user, eraseBatch)
			if err != nil {
				return nil, err
			}
			if len(sessions) == 0 {
				return total, o.tellErased(ctx, "telemetry.user_erased", user, total)
			}
			erased, err := o.erase(ctx, sessions)
			if err != nil {
				return nil, err
			}
			total.Add(erased)
		}
	})
	return who, total, err
}

func (o Org) sessionsOf(ctx context.Context, user ids.ID, limit int) ([]string, error) {
	type row struct {
		ID string `bun:"session_id"`
	}
	rows, err := query[row](ctx, o.pg, "SELECT t.session_id FROM sessions t WHERE t.org_id = $1 AND t.user_id = $2 LIMIT $3", o.id, user, limit)
	return column(rows, func(r *row) string { return r.ID }), err
}

// erase deletes the raw records of sessions and takes them out of every rollup and suggestion.
func (o Org) erase(ctx context.Context, sessions []string) (*models.PushCounts, error) {
	type counts struct {
		Sessions    int `bun:"sessions"`
		Prompts     int `bun:"prompts"`
		Invocations int `bun:"invocations"`
		Facts       int `bun:"facts"`
		Gradings    int `bun:"gradings"`
		Signals     int `bun:"signals"`
	}
	gone, err := query[counts](ctx, o.pg, `WITH
			s AS (DELETE FROM sessions WHERE org_id = $1 AND session_id = ANY($2) RETURNING 1),
			p AS (DELETE FROM prompts WHERE org_id = $1 AND session_id = ANY($2) RETURNING 1),
			i AS (DELETE FROM invocations WHERE org_id = $1 AND session_id = ANY($2) RETURNING 1),
			f AS (DELETE FROM execution_facts WHERE org_id = $1 AND session_id = ANY($2) RETURNING 1),
			g AS (DELETE FROM gradings WHERE org_id = $1 AND session_id = ANY($2) RETURNING 1),
			n AS (DELETE FROM improvement_signals WHERE org_id = $1 AND session_id = ANY($2) RETURNING 1)
		SELECT (SELECT count(*) FROM s) AS sessions, (SELECT count(*) FROM p) AS prompts, (SELECT count(*) FROM i) AS invocations,
			(SELECT count(*) FROM f) AS facts, (SELECT count(*) FROM g) AS gradings, (SELECT count(*) FROM n) AS signals`, o.id, sessions)
	if err != nil {
		return nil, err
	}
	if err := o.roll(ctx, sessions); err != nil {
		return nil, err
	}
	c := gone[0]
	return &models.PushCounts{
		Sessions: c.Sessions, Prompts: c.Prompts, SkillInvocations: c.Invocations,
		ExecutionFacts: c.Facts, GradingResults: c.Gradings, ImprovementSignals: c.Signals,
	}, o.forgetSessions(ctx, sessions)
}

// tellErased writes the event of an erasure, with numbers only: an id that a client chose may say who it was about.
func (o Org) tellErased(ctx context.Context, kind string, object ids.ID, c *models.PushCounts) error {
	if *c == (models.PushCounts{}) {
		return nil
	}
	return o.event(ctx, kind, object, map[string]any{
		"sessions": c.Sessions, "prompts": c.Prompts, "skill_invocations": c.SkillInvocations,
		"execution_facts": c.ExecutionFacts, "grading_results": c.GradingResults, "improvement_signals": c.ImprovementSignals,
	})
}
