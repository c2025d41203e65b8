package resolvers

import (
	"context"

	"skillgraph/models"
)

func (mutation) PushTelemetry(ctx context.Context, in models.PushTelemetryInput) (models.PushReceipt, error) {
	p, err := in.ParsePush()
	if err != nil {
		return nil, err
	}
	return org(ctx).Push(ctx, p)
}
