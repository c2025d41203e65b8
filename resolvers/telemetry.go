package resolvers

import (
	"context"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (mutation) PushTelemetry(ctx context.Context, in models.PushTelemetryInput) (*models.PushTelemetryPayload, error) {
	p, err := in.ParsePush()
	if err != nil {
		return nil, err
	}
	return org(ctx).Push(ctx, p)
}

func (mutation) EraseSession(ctx context.Context, sessionKey string) (*models.EraseSessionPayload, error) {
	erased, err := org(ctx).EraseSession(ctx, sessionKey)
	if err != nil {
		return nil, err
	}
	return &models.EraseSessionPayload{Erased: erased}, nil
}

func (mutation) EraseUser(ctx context.Context, userID ids.ID) (*models.EraseUserPayload, error) {
	user, erased, err := org(ctx).EraseUser(ctx, userID)
	if err != nil {
		return nil, err
	}
	return &models.EraseUserPayload{User: user, Erased: erased}, nil
}
