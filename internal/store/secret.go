package store

import (
	"context"
	"crypto/rand"
)

// SecretLength is that of every server secret, in bytes.
const SecretLength = 32

// Secret is a secret of this installation. Whoever asks first makes it; from then on it is the same on every replica.
func (s *Store) Secret(ctx context.Context, name string) ([]byte, error) {
	if known, ok := s.secrets.Load(name); ok {
		return known.([]byte), nil
	}
	type row struct {
		Secret []byte `bun:"secret"`
	}
	made := make([]byte, SecretLength)
	_, _ = rand.Read(made) // never fails
	if _, err := exec(ctx, s.pool, "INSERT INTO server_secrets (name, secret, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING", name, made, s.now()); err != nil {
		return nil, fail(ctx, err)
	}
	rows, err := query[row](ctx, s.pool, "SELECT secret FROM server_secrets WHERE name = $1", name)
	if err != nil {
		return nil, err
	}
	s.secrets.Store(name, rows[0].Secret)
	return rows[0].Secret, nil
}
