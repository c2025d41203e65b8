package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// published is a world of the registry on the database of a watch.
func (w *watch) published(org store.Org) world {
	return world{Store: w.db, url: w.url, acme: w.Org, other: org}
}

// used makes sessions that used a skill and say of which version; every other one fired, with a score.
func (w *watch) used(t *testing.T, org store.Org, skill string, version *string, rates ...float64) {
	t.Helper()
	at := w.now()
	var c models.Canonical
	for n, rate := range rates {
		w.made++
		id := fmt.Sprint("used-", w.made)
		i := models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: skill, OccurredAt: &at, Triggered: new(n%2 == 0), VersionHash: version}
		if n%2 == 0 {
			i.Confidence = new(0.5)
		}
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Invocations = append(c.Invocations, i)
		if rate >= 0 {
			c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: skill, GradedAt: &at, PassRate: &rate})
		}
	}
	w.in(org).push(t, c)
}

const ungraded = -1

// Telemetry names a version by its bytes, by its SKILL.md or by its maker's tag, and counts for that version alone.
func TestQualityOf(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	other := w.org(t, "other")
	r := w.published(other)
	e := newEntry("pdf")
	e.Visibility = models.VisibilityPublic
	in := newVersion("1.0.0")
	in.ContentHash = new("my tag")
	made, err := r.create(t.Context(), w.Org, e, in, "pdf 1.0.0")
	require.NoError(t, err)
	first := made.Version
	second, third := r.version(t, w.Org, made.Entry, "1.1.0"), r.version(t, w.Org, made.Entry, "1.2.0")
	theirs, err := r.create(t.Context(), other, e, newVersion("1.0.0"), "their bytes")
	require.NoError(t, err)

	w.used(t, w.Org, "pdf", &first.ContentHash, 1, 0)
	w.used(t, w.Org, "pdf", new("sha256:"+first.ContentHash), 0.5)
	w.used(t, w.Org, "pdf", new("my tag"), ungraded)
	w.used(t, w.Org, "pdf", first.SkillHash, ungraded, 0.1)
	w.used(t, w.Org, "pdf", new("sha256:"+*first.SkillHash), 0.4)
	w.used(t, w.Org, "pdf", &second.ContentHash, ungraded, ungraded, 0.25)
	for _, nobodys := range []*string{nil, new(""), new("none"), new("My tag"), new("sha256:my tag"), new(hash("nothing"))} {
		w.used(t, w.Org, "pdf", nobodys, 0)
	}
	w.used(t, w.Org, "docx", &first.ContentHash, 0)   // another skill
	w.used(t, other, "pdf", &first.ContentHash, 0, 0) // another organization, where the bytes are those of no version

	for _, org := range []store.Org{w.Org, other} { // everybody sees the same
		got, err := org.QualityOf(t.Context(), []ids.ID{first.ID, second.ID, third.ID, theirs.Version.ID})
		require.NoError(t, err)
		q := got[first.ID]
		require.Equal(t, 7, q.Sessions)
		require.Equal(t, 5, q.GradedSessions())
		require.Equal(t, models.NewRate(new(0.4), 5), q.PassRate())
		require.Equal(t, models.NewRate(new(5.0/7), 7), q.TriggerRate())
		require.Equal(t, models.NewRate(new(0.5), 5), q.AvgConfidence())
		require.Equal(t, 3, got[second.ID].Sessions)
		require.Equal(t, models.NewRate(new(0.25), 1), got[second.ID].PassRate())
		for _, unused := range []ids.ID{third.ID, theirs.Version.ID} {
			require.Zero(t, got[unused].Sums)
			require.Nil(t, got[unused].PassRate())
			require.Nil(t, got[unused].TriggerRate())
			require.Nil(t, got[unused].AvgConfidence())
		}

		evidence, err := org.EntryEvidenceOf(t.Context(), []ids.ID{made.Entry.ID, theirs.Entry.ID})
		require.NoError(t, err)
		require.Equal(t, 12, evidence[made.Entry.ID].GradedSessions, "of the skill, whatever the version")
		require.Equal(t, models.NewRate(new(2.25/12), 12), evidence[made.Entry.ID].PassRate())
		require.Equal(t, 2, evidence[theirs.Entry.ID].GradedSessions)
		require.Equal(t, models.NewRate(new(0.0), 2), evidence[theirs.Entry.ID].PassRate())
	}
}

// Two versions with the same bytes cannot be told apart by telemetry: it counts for both.
func TestQualityOfTwins(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	r := w.published(w.Org)
	e := r.entry(t, w.Org, "pdf", models.VisibilityOrg)
	twin, err := r.push(t.Context(), w.Org, e.Entry.ID, newVersion("1.0.1"), "pdf 1.0.0")
	require.NoError(t, err)
	require.True(t, twin.Created)
	require.Equal(t, e.Version.ContentHash, twin.Version.ContentHash)
	w.used(t, w.Org, "pdf", &e.Version.ContentHash, 1)
	got, err := w.QualityOf(t.Context(), []ids.ID{e.Version.ID, twin.Version.ID})
	require.NoError(t, err)
	require.Equal(t, 1, got[e.Version.ID].Sessions)
	require.Equal(t, 1, got[twin.Version.ID].Sessions)
}

// An entry whose skill nobody has seen has no figures, and an entry for a skill that telemetry knows is that skill's.
func TestEvidenceOf(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	r := w.published(w.Org)
	fresh := r.entry(t, w.Org, "fresh", models.VisibilityOrg).Entry
	w.used(t, w.Org, "known", nil, 0.5)
	known := r.entry(t, w.Org, "known", models.VisibilityOrg).Entry
	require.Equal(t, w.skill(t, "known").ID, known.SkillID)
	got, err := w.EntryEvidenceOf(t.Context(), []ids.ID{fresh.ID, known.ID})
	require.NoError(t, err)
	require.Zero(t, got[fresh.ID].GradedSessions)
	require.Nil(t, got[fresh.ID].PassRate())
	require.Equal(t, 1, got[known.ID].GradedSessions)
	bySkill, err := w.EntriesOfSkills(t.Context(), []ids.ID{fresh.SkillID, known.SkillID})
	require.NoError(t, err)
	require.Equal(t, fresh.ID, bySkill[fresh.SkillID].ID)
	require.Equal(t, known.ID, bySkill[known.SkillID].ID)
}

// A skill is critical when it falls by more than a tenth below what it was when the current version was published.
func TestBaseline(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	r := w.published(w.Org)
	was, turns := models.SkillStatusUnknown, 0
	requireJudged := func(baseline *float64, status models.SkillStatus) {
		t.Helper()
		if status != was {
			was, turns = status, turns+1
		}
		got := w.skill(t, "pdf")
		require.Equal(t, baseline, got.Baseline)
		require.Equal(t, status, got.Status)
	}
	grade := func(rate float64) { // all of the last sessions
		t.Helper()
		w.pass(time.Second)
		w.grade(t, w.Org, "pdf", 20, rate)
	}
	grade(0.9)
	requireJudged(nil, models.SkillStatusHealthy)
	e := r.entry(t, w.Org, "pdf", models.VisibilityOrg)
	require.Equal(t, new(0.9), e.Version.Baseline)
	requireJudged(new(0.9), models.SkillStatusHealthy)
	grade(0.8)
	requireJudged(new(0.9), models.SkillStatusHealthy)
	grade(0.79)
	requireJudged(new(0.9), models.SkillStatusCritical)

	beta := r.version(t, w.Org, e.Entry, "1.1.0-beta")
	require.Equal(t, new(0.79), beta.Baseline)
	requireJudged(new(0.9), models.SkillStatusCritical) // it is not current
	second := r.version(t, w.Org, e.Entry, "1.1.0")
	requireJudged(new(0.79), models.SkillStatusHealthy)
	_, err := w.Rollback(t.Context(), e.Entry.ID, nil, nil)
	require.NoError(t, err)
	requireJudged(new(0.9), models.SkillStatusCritical)
	_, err = w.Rollback(t.Context(), e.Entry.ID, &second.Version, nil)
	require.NoError(t, err)
	requireJudged(new(0.79), models.SkillStatusHealthy)
	_, err = w.RevokeVersion(t.Context(), second.ID, nil)
	require.NoError(t, err)
	requireJudged(nil, models.SkillStatusHealthy) // 1.0.0 was rolled back: nothing is current
	grade(0.5)
	third := r.version(t, w.Org, e.Entry, "1.2.0")
	require.Equal(t, new(0.5), third.Baseline)
	requireJudged(new(0.5), models.SkillStatusWarning)
	grade(0.39)
	requireJudged(new(0.5), models.SkillStatusCritical)
	grade(0.5)
	requireJudged(new(0.5), models.SkillStatusWarning)
	_, err = w.Rollback(t.Context(), e.Entry.ID, new("1.0.0"), nil)
	require.NoError(t, err)
	requireJudged(new(0.9), models.SkillStatusCritical)
	_, err = w.RevokeVersion(t.Context(), e.Version.ID, nil)
	require.NoError(t, err)
	requireJudged(nil, models.SkillStatusWarning)
	_, err = w.Rollback(t.Context(), e.Entry.ID, new("1.2.0"), nil)
	require.NoError(t, err)
	requireJudged(new(0.5), models.SkillStatusWarning)
	grade(0.3)
	requireJudged(new(0.5), models.SkillStatusCritical)
	require.NoError(t, w.DeleteEntry(t.Context(), e.Entry.ID))
	requireJudged(nil, models.SkillStatusCritical) // whatever it is compared with
	grade(0.41)
	requireJudged(nil, models.SkillStatusWarning)
	told := 0
	for _, kind := range happened(t, w.Org) {
		if kind == "skill.status_changed" {
			told++
		}
	}
	require.Equal(t, turns, told, "every turn was told, once")
}

// Under three graded sessions there is nothing to compare with.
func TestNoBaseline(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	r := w.published(w.Org)
	w.grade(t, w.Org, "pdf", 2, 1)
	e := r.entry(t, w.Org, "pdf", models.VisibilityOrg)
	require.Nil(t, e.Version.Baseline)
	w.grade(t, w.Org, "pdf", 20, 0.71)
	require.Nil(t, w.skill(t, "pdf").Baseline)
	require.Equal(t, models.SkillStatusHealthy, w.skill(t, "pdf").Status)
	require.InDelta(t, 0.71, *r.version(t, w.Org, e.Entry, "1.1.0").Baseline, 0.05)
}
