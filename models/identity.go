package models

import (
	"crypto/rand"
	"crypto/sha256"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// Viewer is who is asking: what an API key stands for.
type Viewer struct {
	OrgID       ids.ID
	UserID      ids.ID
	KeyID       ids.ID
	Plan        Plan
	Role        Role
	Permissions []Permission
}

// Can reports whether the key has the permission.
func (v *Viewer) Can(p Permission) bool { return slices.Contains(v.Permissions, p) }

// MayGive refuses a role that may do more than the caller's own key.
func (v *Viewer) MayGive(r Role) error {
	if !Covers(v.Permissions, r.Permissions()) {
		return errs.New(errs.Forbidden, "You may not make somebody %s: that role may do more than this key", r.Wire())
	}
	return nil
}

// MayChange refuses to touch somebody, or a key, that may do more than the caller's own key: giving and taking away follow the
// same rule. Everybody may change themselves.
func (v *Viewer) MayChange(owner *User, has []Permission) error {
	if owner.ID != v.UserID && !Covers(v.Permissions, has) {
		return errs.New(errs.Forbidden, "You may not change what %s has: it may do more than this key", owner.Email)
	}
	return nil
}

// Validate refuses a key that may do more than the caller's own.
func (in CreateAPIKeyInput) Validate(caller *Viewer, owner *User) error {
	wanted := owner.Standing.Permissions()
	if in.Permissions.IsSet() && in.Permissions.Value() != nil {
		wanted = in.Permissions.Value()
	}
	if !Covers(caller.Permissions, wanted) {
		return errs.New(errs.Forbidden, "You may not make a key that may do more than your own: name the permissions it should have")
	}
	return nil
}

// Organization is a tenant.
type Organization struct {
	bun.BaseModel `bun:"table:organizations"`

	ID        ids.ID    `bun:"id,pk"`
	Name      string    `bun:"name"`
	Plan      Plan      `bun:"plan"`
	CreatedAt time.Time `bun:"created_at"`
}

var orgName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// Validate is the rule for an organization's name: it appears on command lines and as a code host's account.
func (o Organization) Validate() error {
	if !orgName.MatchString(o.Name) {
		return errs.At("name").Because("must be 1 to 100 lower-case letters, digits, dots, hyphens or underscores, beginning with a letter or digit")
	}
	return nil
}

// AtLeast reports whether the plan has everything of the other.
func (e Plan) AtLeast(other Plan) bool {
	return slices.Index(AllPlan, e) >= slices.Index(AllPlan, other)
}

// User is a person, seen from one organization: a row of members with its row of users.
type User struct {
	ID        ids.ID     `bun:"id"`
	Email     string     `bun:"email"`
	Standing  Role       `bun:"role"`
	JoinedAt  time.Time  `bun:"joined_at"`
	RemovedAt *time.Time `bun:"removed_at"`
}

// Role is null for somebody who has left.
func (u *User) Role() *Role {
	if u.RemovedAt != nil {
		return nil
	}
	return &u.Standing
}

var memberPermissions = []Permission{PermissionTelemetryWrite, PermissionSourcesWrite, PermissionCommunityWrite, PermissionRegistryPush, PermissionRegistryInstall}

var rolePermissions = map[Role][]Permission{
	RoleViewer: nil,
	RoleMember: memberPermissions,
	RoleAdmin:  append(slices.Clone(memberPermissions), PermissionAlertsWrite, PermissionRegistryRollback, PermissionKeysManage),
	RoleOwner:  AllPermission,
}

// Permissions is what the role may do besides reading.
func (e Role) Permissions() []Permission { return InOrder(rolePermissions[e]) }

// InOrder sorts permissions as the schema lists them and drops repetitions.
func InOrder(ps []Permission) []Permission {
	out := []Permission{}
	for _, p := range AllPermission {
		if slices.Contains(ps, p) {
			out = append(out, p)
		}
	}
	return out
}

// Covers reports whether everything in other is in have, so that nobody gives away more than they have.
func Covers(have, other []Permission) bool {
	return !slices.ContainsFunc(other, func(p Permission) bool { return !slices.Contains(have, p) })
}

// APIKey is the record of a key; of the key itself there is only a hash.
type APIKey struct {
	bun.BaseModel `bun:"table:api_keys,alias:t"`

	OrgID       ids.ID       `bun:"org_id,pk"`
	ID          ids.ID       `bun:"id,pk"`
	UserID      ids.ID       `bun:"user_id"`
	Name        string       `bun:"name"`
	Prefix      string       `bun:"prefix"`
	Hash        []byte       `bun:"hash"`
	Permissions []Permission `bun:"permissions,array"`
	CreatedAt   time.Time    `bun:"created_at"`
	ExpiresAt   *time.Time   `bun:"expires_at"`
	RevokedAt   *time.Time   `bun:"revoked_at"`
	LastUsedAt  *time.Time   `bun:"last_used_at"`
}

// Validate is the rule for a key's name and expiry.
func (k APIKey) Validate(now time.Time) error {
	if err := checkText(errs.At("name"), k.Name, 1, 200); err != nil {
		return err
	}
	if k.ExpiresAt != nil && !k.ExpiresAt.After(now) {
		return errs.At("expiresAt").Because("must be in the future")
	}
	return nil
}

// Effective is what the key may do besides reading.
func (k *APIKey) Effective(owner *User) []Permission {
	if k.Permissions != nil {
		return k.Permissions
	}
	return owner.Standing.Permissions()
}

// Apply makes the change, or names the field that may not change so.
func (in UpdateAPIKeyInput) Apply(k *APIKey, now time.Time) error {
	if err := setOnly(errs.At("name"), in.Name, &k.Name); err != nil {
		return err
	}
	if at, set := in.ExpiresAt.ValueOK(); set {
		k.ExpiresAt = at
		return k.Validate(now)
	}
	return checkText(errs.At("name"), k.Name, 1, 200)
}

const (
	keyPrefix   = "sg_live_"
	keyAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	keyLength   = 40
)

// NewKey makes a key of 238 random bits.
func NewKey() string {
	b := make([]byte, 0, keyLength)
	for len(b) < keyLength {
		var r [1]byte
		_, _ = rand.Read(r[:]) // never fails
		if int(r[0]) < 256/len(keyAlphabet)*len(keyAlphabet) {
			b = append(b, keyAlphabet[int(r[0])%len(keyAlphabet)])
		}
	}
	return keyPrefix + string(b)
}

// NewSecret makes a secret for somebody else to keep.
func NewSecret() string { return "whsec_" + rand.Text() }

// HashKey is how a key is stored. Keys are random and long, so a plain hash is as good as a slow one.
func HashKey(key string) []byte {
	h := sha256.Sum256([]byte(key))
	return h[:]
}

// KeyPrefix is the part of a key that may be shown.
func KeyPrefix(key string) string { return key[:len(keyPrefix)+4] }

// LooksLikeKey tells a key from something else before the database is asked.
func LooksLikeKey(s string) bool {
	return strings.HasPrefix(s, keyPrefix) && len(s) >= len(keyPrefix)+32 && len(s) < 200
}
