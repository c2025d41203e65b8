package store

import (
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"skillgraph/internal/ids"
)

// keyCodec sends the keys of a batch as they are. The driver's own way is an allocation or two for each.
type keyCodec struct{ pgtype.Codec }

// registerKeys makes a connection use it for uuid[].
func registerKeys(m *pgtype.Map) {
	usual, _ := m.TypeForOID(pgtype.UUIDArrayOID)
	m.RegisterType(&pgtype.Type{Name: usual.Name, OID: usual.OID, Codec: keyCodec{usual.Codec}})
}

// PlanEncode is asked how a value is sent.
func (c keyCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.([]ids.ID); ok && format == pgtype.BinaryFormatCode {
		return keyPlan{}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type keyPlan struct{}

// Encode writes an array of one dimension without nulls: its head, and each key after its length.
func (keyPlan) Encode(value any, b []byte) ([]byte, error) {
	keys := value.([]ids.ID)
	if keys == nil {
		return nil, nil
	}
	dimensions := min(len(keys), 1)
	b = slices.Grow(b, 20+20*len(keys))
	b = binary.BigEndian.AppendUint32(b, uint32(dimensions))
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, pgtype.UUIDOID)
	if dimensions == 0 {
		return b, nil
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(keys)))
	b = binary.BigEndian.AppendUint32(b, 1)
	for _, k := range keys {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(k))), k[:]...)
	}
	return b, nil
}
