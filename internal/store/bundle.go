package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// inbox is the door to community bundles. A bundle belongs to the person it is addressed to, whichever organization it
// came from: the creator stands where every other statement has the organization. The server itself gets none.
func (o Org) inbox() Org {
	o.id = o.actor
	return o
}

// contributors is the name of the secret that hashes who contributes.
const contributors = "contributors"

// keyed is a hash of some words that nobody can make, or try out, without the server's secret.
func (s *Store) keyed(ctx context.Context, words ...string) ([]byte, error) {
	secret, err := s.Secret(ctx, contributors)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, secret)
	for _, w := range words { // with their lengths, so that no two lists are hashed alike
		_ = binary.Write(mac, binary.BigEndian, uint64(len(w)))
		_, _ = mac.Write([]byte(w))
	}
	return mac.Sum(nil), nil
}

// SubmitBundle hands a bundle in, for its creator to read, and says whether it was new. It writes no event and keeps neither
// sender nor organization: the hash links what one contributor sends to one creator, and nothing else.
func (o Org) SubmitBundle(ctx context.Context, s *models.Submission) (id ids.ID, fresh bool, err error) {
	hash, err := o.store.keyed(ctx, "bundle", o.actor.String(), s.CreatorID.String())
	if err != nil {
		return ids.ID{}, false, err
	}
	s.ID, s.SubmittedAt, s.ContributorHash = ids.New(ids.Bundle, o.now()), o.now(), hex.EncodeToString(hash)
	type row struct {
		models.CommunityBundle
		Digest []byte      `bun:"digest"`
		Bundle models.JSON `bun:"bundle"`
	}
	type found struct {
		ID ids.ID `bun:"id"`
	}
	id, err = inTx(ctx, o, func(o Org) (ids.ID, error) {
		res, err := o.db.NewInsert().Model(&row{s.CommunityBundle, s.Digest, s.Bundle}).ModelTableExpr("community_bundles").
			On("CONFLICT ON CONSTRAINT community_bundles_once DO NOTHING").Exec(ctx)
		if err != nil {
			return ids.ID{}, err
		}
		if n, _ := res.RowsAffected(); n == 1 {
			fresh = true
			return s.ID, nil
		}
		rows, err := query[found](ctx, o.pg, "SELECT t.id FROM community_bundles t WHERE t.creator_id = $1 AND t.contributor_hash = $2 AND t.digest = $3", s.CreatorID, s.ContributorHash, s.Digest)
		if err != nil {
			return ids.ID{}, err
		}
		return rows[0].ID, nil
	})
	return id, fresh, err
}

// summaryColumns sum bundles up. A pass rate weighs as much as it has graded sessions.
const summaryColumns = `count(*) AS submission_count, count(DISTINCT t.contributor_hash) AS contributor_count, max(t.submitted_at) AS latest_submission,
	sum(t.total_sessions)::bigint AS total_sessions, coalesce(sum(t.graded_sessions), 0)::bigint AS graded_sessions,
	(sum(t.average_pass_rate::numeric * t.graded_sessions) / nullif(sum(t.graded_sessions), 0))::float8 AS average_pass_rate,
	sum(t.positive_query_count)::bigint AS positive_query_count, sum(t.eval_entry_count)::bigint AS eval_entry_count`

// ownSkillNamed is the organization's skill of the same name.
const ownSkillNamed = "(SELECT s.id FROM skills s WHERE s.org_id = $2 AND s.name = t.skill_name) AS skill_id, "

// maxListed is how many items a list without pages shows.
const maxListed = 1000

// BundleOverview sums up what contributors have sent to the caller.
func (o Org) BundleOverview(ctx context.Context) (*models.CommunityOverview, error) {
	in := o.inbox()
	type totals struct {
		Submissions  int `bun:"submissions"`
		Skills       int `bun:"skills"`
		Contributors int `bun:"contributors"`
	}
	all, err := query[totals](ctx, o.pg, `SELECT count(*) AS submissions, count(DISTINCT t.skill_name) AS skills, count(DISTINCT t.contributor_hash) AS contributors
		FROM community_bundles t WHERE t.creator_id = $1`, in.id)
	if err != nil {
		return nil, err
	}
	skills, err := query[models.CommunitySummary](ctx, o.pg, "SELECT t.skill_name, "+ownSkillNamed+summaryColumns+` FROM community_bundles t WHERE t.creator_id = $1
		GROUP BY t.skill_name ORDER BY latest_submission DESC, t.skill_name LIMIT $3`, in.id, o.id, maxListed)
	return &models.CommunityOverview{
		CreatorID: in.id, GeneratedAt: o.now(), TotalSubmissions: all[0].Submissions, TotalSkills: all[0].Skills, TotalContributors: all[0].Contributors,
		Skills: skills, Truncated: len(skills) < all[0].Skills,
	}, err
}

// BundleSummary sums up what contributors have sent to the caller about one skill; nil where there is nothing.
func (o Org) BundleSummary(ctx context.Context, skill string) (*models.CommunitySummary, error) {
	rows, err := query[models.CommunitySummary](ctx, o.pg, "SELECT t.skill_name, "+ownSkillNamed+summaryColumns+" FROM community_bundles t WHERE t.creator_id = $1 AND t.skill_name = $3 GROUP BY t.skill_name", o.inbox().id, o.id, skill)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// BundleSummariesOf is the batch for what contributors have sent to the caller about skills of the organization.
func (o Org) BundleSummariesOf(ctx context.Context, skills []ids.ID) (map[ids.ID]*models.CommunitySummary, error) {
	rows, err := query[models.CommunitySummary](ctx, o.pg, "SELECT s.id AS skill_id, t.skill_name, "+summaryColumns+` FROM skills s
		JOIN community_bundles t ON t.creator_id = $3 AND t.skill_name = s.name WHERE s.org_id = $1 AND s.id = ANY($2) GROUP BY s.id, t.skill_name`, o.id, skills, o.inbox().id)
	return byID(rows, func(s *models.CommunitySummary) ids.ID { return *s.SkillID }), err
}

func bundleID(b *models.CommunityBundle) ids.ID { return b.ID }

// BundlesOf lists the bundles of creators, newest first: of the caller, or nobody.
func (o Org) BundlesOf(ctx context.Context, creators []ids.ID, w models.Window) (map[ids.ID]*models.CommunityBundleConnection, error) {
	return pages(ctx, o.inbox(), listing[models.CommunityBundle]{
		from: "community_bundles t", scope: "t.creator_id = $1", parent: "t.creator_id", order: newest(bundleID),
	}, creators, w)
}

// BundlesOfSkills lists the bundles about skills of the organization that were sent to the caller, newest first.
func (o Org) BundlesOfSkills(ctx context.Context, skills []ids.ID, w models.Window) (map[ids.ID]*models.CommunityBundleConnection, error) {
	l := listing[models.CommunityBundle]{
		from: "community_bundles t JOIN skills s ON s.name = t.skill_name", scope: "s.org_id = $1", parent: "s.id", order: newest(bundleID),
	}
	l.filter("t.creator_id = ?", o.inbox().id)
	return pages(ctx, o, l, skills, w)
}

// SkillsOfBundles is the batch for the organization's skills that bundles for the caller are about.
func (o Org) SkillsOfBundles(ctx context.Context, bundles []ids.ID) (map[ids.ID]*models.Skill, error) {
	return childOf(query[child[models.Skill]](ctx, o.pg, "SELECT b.id AS parent_key, "+columns[models.Skill]()+` FROM community_bundles b
		JOIN skills t ON t.org_id = $1 AND t.name = b.skill_name WHERE b.creator_id = $3 AND b.id = ANY($2)`, o.id, bundles, o.inbox().id))
}

// RecentBundlesOf is the batch for the last bundles of creators, newest first: of the caller, or nobody.
func (o Org) RecentBundlesOf(ctx context.Context, creators []ids.ID, a models.RecentArgs) (map[ids.ID][]*models.CommunityBundle, error) {
	rows, err := query[models.CommunityBundle](ctx, o.pg, "SELECT "+columns[models.CommunityBundle]()+` FROM community_bundles t
		WHERE t.creator_id = $1 AND t.creator_id = ANY($2) AND ($3 = '' OR t.skill_name = $3) ORDER BY t.id DESC LIMIT $4`, o.inbox().id, creators, a.SkillName, a.Limit)
	return group(rows, func(b *models.CommunityBundle) ids.ID { return b.CreatorID }), err
}

// BundlesByID is the batch for nodes.
func (o Org) BundlesByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.CommunityBundle, error) {
	rows, err := query[models.CommunityBundle](ctx, o.pg, "SELECT "+columns[models.CommunityBundle]()+" FROM community_bundles t WHERE t.creator_id = $1 AND t.id = ANY($2)", o.inbox().id, keys)
	return byID(rows, bundleID), err
}

// BundleContents is the batch for the bundles themselves.
func (o Org) BundleContents(ctx context.Context, keys []ids.ID) (map[ids.ID]models.JSON, error) {
	type row struct {
		ID     ids.ID      `bun:"id"`
		Bundle models.JSON `bun:"bundle"`
	}
	rows, err := query[row](ctx, o.pg, "SELECT t.id, t.bundle FROM community_bundles t WHERE t.creator_id = $1 AND t.id = ANY($2)", o.inbox().id, keys)
	out := make(map[ids.ID]models.JSON, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Bundle
	}
	return out, err
}
