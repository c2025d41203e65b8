// Package ids makes and reads the identifiers of skillgraph.
//
// An ID is a UUIDv8: 48 bits of Unix milliseconds, so that ids sort by age; 8 bits that say
// which kind of object it names, so that node(id:) finds its table without asking; the rest random.
package ids

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"skillgraph/internal/errs"
)

// ID is a UUID. The zero ID names nothing.
type ID [16]byte

// Kind is the sort of object an ID names.
type Kind byte

// The numbers are stored inside ids: never change or reuse one.
const (
	Unknown Kind = iota
	Organization
	User
	APIKey
	Event
	Suite
	SuiteRevision
	Source
	Case
	Skill
	Push
	Alert
	Incident
	Notification
	Entry
	Version
	Installation
	Release
	Snapshot
	Validation
	Suggestion
	Review
	Run
	RunResult
	RepoInstallation
	RepoLink
	Attempt
	Delivery
	Bundle
	Proposal
)

var kindNames = [...]string{
	Unknown:          "unknown",
	Organization:     "organization",
	User:             "member",
	APIKey:           "API key",
	Event:            "event",
	Suite:            "eval suite",
	SuiteRevision:    "suite revision",
	Source:           "cloud source",
	Case:             "case",
	Skill:            "skill",
	Push:             "push",
	Alert:            "alert",
	Incident:         "incident",
	Notification:     "notification",
	Entry:            "registry entry",
	Version:          "registry version",
	Installation:     "installation",
	Release:          "release",
	Snapshot:         "snapshot",
	Validation:       "validation report",
	Suggestion:       "eval suggestion",
	Review:           "suggestion review",
	Run:              "eval run",
	RunResult:        "eval result",
	RepoInstallation: "code-host installation",
	RepoLink:         "connection",
	Attempt:          "publish attempt",
	Delivery:         "delivery",
	Bundle:           "community bundle",
	Proposal:         "proposal",
}

// String is the kind as a person would say it.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return kindNames[Unknown]
	}
	return kindNames[k]
}

// Noun is the kind with its article.
func (k Kind) Noun() string {
	if strings.ContainsAny(k.String()[:1], "AEIOUaeiou") {
		return "an " + k.String()
	}
	return "a " + k.String()
}

// New makes an ID for an object of the given kind that comes to be now.
func New(k Kind, now time.Time) ID {
	var id ID
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(id[8:]) // never fails
	id[6] = 0x80 | byte(k)>>4
	id[7] = byte(k)<<4 | id[15]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// Derive makes an ID that is the same whenever it is made from the same data. It does not sort by age.
func Derive(k Kind, data []byte) ID {
	sum := sha256.Sum256(data)
	id := ID(sum[:16])
	id[6] = 0x80 | byte(k)>>4
	id[7] = byte(k)<<4 | id[7]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// Kind reads the kind back; an ID that we did not make is Unknown.
func (id ID) Kind() Kind {
	if id[6]>>4 != 8 {
		return Unknown
	}
	k := Kind(id[6]<<4 | id[7]>>4)
	if int(k) >= len(kindNames) {
		return Unknown
	}
	return k
}

// NotFound says that there is no object of the wanted kind with this id and, where the id is of another kind, of which.
func (id ID) NotFound(want Kind) error {
	if got := id.Kind(); got != Unknown && got != want {
		return errs.New(errs.NotFound, "%s is the id of %s, not of %s", id, got.Noun(), want.Noun())
	}
	return errs.New(errs.NotFound, "There is no %s with the id %s", want, id)
}

// IsZero reports whether the ID names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// String is the canonical lower-case form with hyphens.
func (id ID) String() string {
	var b [36]byte
	id.encode(b[:])
	return string(b[:])
}

func (id ID) encode(b []byte) {
	hex.Encode(b[0:8], id[0:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:36], id[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
}

// SourcePrefix stands before the id of a cloud source wherever it is shown as such.
const SourcePrefix = "src_"

var errMalformed = errs.New(errs.Invalid, "must be a UUID")

// Parse reads a UUID in its canonical form, upper or lower case, with or without the source prefix.
func Parse(s string) (ID, error) {
	s = strings.TrimPrefix(s, SourcePrefix)
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, errMalformed
	}
	var id ID
	if _, err := hex.Decode(id[:], []byte(s[0:8]+s[9:13]+s[14:18]+s[19:23]+s[24:36])); err != nil {
		return ID{}, errMalformed
	}
	return id, nil
}

// MarshalText and UnmarshalText make an ID a JSON string.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = Parse(string(b))
	return err
}

// MarshalGQL writes the GraphQL scalar ID.
func (id ID) MarshalGQL(w io.Writer) { _, _ = w.Write(id.AppendGQL(nil)) }

// AppendGQL writes it to bytes.
func (id ID) AppendGQL(b []byte) []byte {
	var quoted [38]byte
	quoted[0], quoted[37] = '"', '"'
	id.encode(quoted[1:37])
	return append(b, quoted[:]...)
}

// UnmarshalGQL reads the GraphQL scalar ID: a string, never a number.
func (id *ID) UnmarshalGQL(v any) (err error) {
	s, ok := v.(string)
	if !ok {
		return errMalformed
	}
	*id, err = Parse(s)
	return err
}

// SourceID is the id of a cloud source where it is shown as such: with its prefix.
type SourceID ID

// MarshalGQL writes the scalar ID.
func (id SourceID) MarshalGQL(w io.Writer) { _, _ = w.Write(id.AppendGQL(nil)) }

// AppendGQL writes it to bytes.
func (id SourceID) AppendGQL(b []byte) []byte {
	b = append(append(b, '"'), SourcePrefix...)
	start := len(b)
	b = append(b, make([]byte, 36)...)
	ID(id).encode(b[start:])
	return append(b, '"')
}

// UnmarshalGQL takes it with or without the prefix, as every id.
func (id *SourceID) UnmarshalGQL(v any) error { return (*ID)(id).UnmarshalGQL(v) }

// UUIDValue and ScanUUID let pgx send and receive ids in binary.
func (id ID) UUIDValue() (pgtype.UUID, error) { return pgtype.UUID{Bytes: id, Valid: true}, nil }

// ScanUUID is the other direction; a NULL needs a *ID.
func (id *ID) ScanUUID(v pgtype.UUID) error {
	if !v.Valid {
		return errors.New("cannot scan NULL into an id")
	}
	*id = v.Bytes
	return nil
}

// Value and Scan do the same for database/sql, which bun speaks.
func (id ID) Value() (driver.Value, error) { return id.String(), nil }

// Scan reads the textual form.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return id.UnmarshalText([]byte(v))
	case []byte:
		return id.UnmarshalText(v)
	}
	return fmt.Errorf("cannot scan %T into an id", src)
}
