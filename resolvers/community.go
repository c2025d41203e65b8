package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/models"
)

func (query) CommunityOverview(ctx context.Context) (*models.CommunityOverview, error) {
	return org(ctx).BundleOverview(ctx)
}

func (query) BundleSchema(context.Context) (models.JSON, error) { return models.BundleSchema, nil }

func (mutation) SubmitBundle(ctx context.Context, in models.SubmitBundleInput) (*models.SubmitBundlePayload, error) {
	s, err := in.Submission()
	if err != nil {
		return nil, err
	}
	id, fresh, err := org(ctx).SubmitBundle(ctx, s)
	if err != nil {
		return nil, err
	}
	return &models.SubmitBundlePayload{Status: "accepted", SubmissionID: id, IsNew: fresh}, nil
}

func (communityOverview) Skill(ctx context.Context, _ *models.CommunityOverview, name string) (*models.CommunitySummary, error) {
	return org(ctx).BundleSummary(ctx, name)
}

func (communityOverview) RecentSubmissions(ctx context.Context, o *models.CommunityOverview, skillName *string, limit int) ([]*models.CommunityBundle, error) {
	args := models.RecentArgs{SkillName: or(skillName, ""), Limit: limit}
	if err := args.Validate(); err != nil {
		return nil, err
	}
	return loader.OverviewBundles.Of(ctx, o, args)
}

func (communityBundle) Bundle(ctx context.Context, b *models.CommunityBundle) (models.JSON, error) {
	return loader.One(ctx, loader.BundleContent, b)
}

func (viewerType) Submissions(ctx context.Context, v *models.Viewer, first *int, after *string, page, perPage *int) (*models.CommunityBundleConnection, error) {
	return loader.Page(ctx, loader.ViewerSubmissions, v, pageArgs(first, after, page, perPage))
}

func (skill) Community(ctx context.Context, s *models.Skill) (*models.CommunitySummary, error) {
	return loader.One(ctx, loader.SkillCommunity, s)
}

func (skill) Submissions(ctx context.Context, s *models.Skill, first *int, after *string, page, perPage *int) (*models.CommunityBundleConnection, error) {
	return loader.Page(ctx, loader.SkillBundles, s, pageArgs(first, after, page, perPage))
}

func (communityBundle) Skill(ctx context.Context, b *models.CommunityBundle) (*models.Skill, error) {
	return loader.One(ctx, loader.BundleSkill, b)
}

func (communitySummary) Skill(ctx context.Context, c *models.CommunitySummary) (*models.Skill, error) {
	return loader.One(ctx, loader.SummarySkill, c)
}
