package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/viewer"
	"skillgraph/models"
)

func (query) Viewer(ctx context.Context) (*models.Viewer, error) { return viewer.From(ctx), nil }

func (query) Organization(ctx context.Context) (*models.Organization, error) {
	return loader.One(ctx, loader.OrganizationByID, viewer.From(ctx))
}

func (mutation) CreateAPIKey(ctx context.Context, in models.CreateAPIKeyInput) (*models.CreateAPIKeyPayload, error) {
	caller := viewer.From(ctx)
	owner, err := org(ctx).Member(ctx, or(in.UserID.Value(), caller.UserID))
	if err != nil {
		return nil, errs.Within(err, "userId")
	}
	if err := in.Validate(caller, owner); err != nil {
		return nil, err
	}
	k, key, err := org(ctx).CreateKey(ctx, models.APIKey{UserID: owner.ID, Name: in.Name, Permissions: in.Permissions.Value(), ExpiresAt: in.ExpiresAt.Value()})
	if err != nil {
		return nil, err
	}
	return &models.CreateAPIKeyPayload{APIKey: k, Key: key}, nil
}

func (mutation) UpdateAPIKey(ctx context.Context, id ids.ID, in models.UpdateAPIKeyInput) (*models.UpdateAPIKeyPayload, error) {
	if err := mayChangeKey(ctx, id); err != nil {
		return nil, err
	}
	k, err := org(ctx).UpdateKey(ctx, id, in)
	if err != nil {
		return nil, err
	}
	return &models.UpdateAPIKeyPayload{APIKey: k}, nil
}

func (mutation) RevokeAPIKey(ctx context.Context, id ids.ID) (*models.RevokeAPIKeyPayload, error) {
	if err := mayChangeKey(ctx, id); err != nil {
		return nil, err
	}
	k, err := org(ctx).RevokeKey(ctx, id)
	if err != nil {
		return nil, err
	}
	return &models.RevokeAPIKeyPayload{APIKey: k}, nil
}

func mayChangeKey(ctx context.Context, id ids.ID) error {
	k, err := org(ctx).Key(ctx, id)
	if err != nil {
		return err
	}
	owners, err := org(ctx).UsersByID(ctx, []ids.ID{k.UserID})
	if err != nil {
		return err
	}
	return viewer.From(ctx).MayChange(owners[k.UserID], k.Effective(owners[k.UserID]))
}

func (mutation) AddMember(ctx context.Context, in models.AddMemberInput) (*models.AddMemberPayload, error) {
	email, err := models.NormalEmail(errs.At("email"), in.Email)
	if err != nil {
		return nil, err
	}
	if err := viewer.From(ctx).MayGive(in.Role); err != nil {
		return nil, err
	}
	there, err := org(ctx).MemberByEmail(ctx, email)
	if err != nil {
		return nil, err
	}
	if there != nil {
		if err := viewer.From(ctx).MayChange(there, there.Standing.Permissions()); err != nil {
			return nil, err
		}
	}
	u, err := org(ctx).AddMember(ctx, email, in.Role)
	if err != nil {
		return nil, err
	}
	return &models.AddMemberPayload{User: u}, nil
}

func (mutation) ChangeMemberRole(ctx context.Context, userID ids.ID, role models.Role) (*models.ChangeMemberRolePayload, error) {
	if err := viewer.From(ctx).MayGive(role); err != nil {
		return nil, err
	}
	if err := mayChangeMember(ctx, userID); err != nil {
		return nil, err
	}
	u, err := org(ctx).ChangeMemberRole(ctx, userID, role)
	if err != nil {
		return nil, err
	}
	return &models.ChangeMemberRolePayload{User: u}, nil
}

func (mutation) RemoveMember(ctx context.Context, userID ids.ID) (*models.RemoveMemberPayload, error) {
	if err := mayChangeMember(ctx, userID); err != nil {
		return nil, err
	}
	u, err := org(ctx).RemoveMember(ctx, userID)
	if err != nil {
		return nil, err
	}
	return &models.RemoveMemberPayload{User: u}, nil
}

func mayChangeMember(ctx context.Context, id ids.ID) error {
	u, err := org(ctx).Member(ctx, id)
	if err != nil {
		return err
	}
	return viewer.From(ctx).MayChange(u, u.Standing.Permissions())
}

func (viewerType) User(ctx context.Context, v *models.Viewer) (*models.User, error) {
	return loader.One(ctx, loader.ViewerUser, v)
}

func (viewerType) Organization(ctx context.Context, v *models.Viewer) (*models.Organization, error) {
	return loader.One(ctx, loader.ViewerOrg, v)
}

func (viewerType) APIKey(ctx context.Context, v *models.Viewer) (*models.APIKey, error) {
	return loader.One(ctx, loader.ViewerAPIKey, v)
}

func (apiKey) User(ctx context.Context, k *models.APIKey) (*models.User, error) {
	return loader.One(ctx, loader.APIKeyUser, k)
}

func (organization) Members(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int) (*models.UserConnection, error) {
	return loader.Page(ctx, loader.OrgMembers, o, pageArgs(first, after, page, perPage))
}

func (organization) APIKeys(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int) (*models.APIKeyConnection, error) {
	return loader.Page(ctx, loader.OrgAPIKeys, o, pageArgs(first, after, page, perPage))
}
