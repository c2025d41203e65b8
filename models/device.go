package models

import (
	"time"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// MaxSync is how many entries one call may ask about.
const MaxSync = 1000

// Installation is an entry on a device.
type Installation struct {
	OrgID        ids.ID     `bun:"org_id"`
	ID           ids.ID     `bun:"id"`
	EntryID      ids.ID     `bun:"entry_id"`
	UserID       ids.ID     `bun:"user_id"`
	DeviceID     string     `bun:"device_id"`
	InstallPath  *string    `bun:"install_path"`
	VersionID    *ids.ID    `bun:"version_id"`
	ContentHash  *string    `bun:"content_hash"`
	SyncStatus   SyncStatus `bun:"sync_status"`
	InstalledAt  time.Time  `bun:"installed_at"`
	LastSyncedAt *time.Time `bun:"last_synced_at"`
}

// SyncEntry is what a device is told about an entry.
type SyncEntry struct {
	EntryID           ids.ID  `bun:"entry_id"`
	Name              string  `bun:"name"`
	CurrentID         *ids.ID `bun:"current_id"` // of the version it should have
	LatestVersion     *string `bun:"latest_version"`
	LatestContentHash *string `bun:"latest_content_hash"`
	HeldID            *ids.ID `bun:"held_id"` // of the version it has
	HeldHash          string  `bun:"held_hash"`
	CurrentVersion    *string `bun:"current_version"`
	IsRevoked         bool    `bun:"revoked"`
	Reason            *string `bun:"reason"`
}

// nothingYet is what a device reports that has nothing. It is no tag of a version.
const nothingYet = "none"

// HasHash is the hash of what the device has; nil when it has nothing yet.
func (s *SyncEntry) HasHash() *string {
	if s.HeldHash == nothingYet || s.HeldHash == "" {
		return nil
	}
	return &s.HeldHash
}

// HasUpdate reports whether the device should fetch the current version.
func (s *SyncEntry) HasUpdate() bool {
	return s.CurrentID != nil && (s.HeldID == nil || *s.HeldID != *s.CurrentID)
}

// Revoked is true when what the device has was revoked, else null.
func (s *SyncEntry) Revoked() *bool {
	if !s.IsRevoked {
		return nil
	}
	return &s.IsRevoked
}

// Validate bounds what is said of a device.
func (in InstallEntryInput) Validate() error {
	if err := CheckDevice(&in.DeviceID); err != nil {
		return err
	}
	if path := in.InstallPath.Value(); path != nil {
		return checkText(errs.At("installPath"), *path, 0, 1000)
	}
	return nil
}

// CheckDevice bounds what a device is called.
func CheckDevice(device *string) error {
	if device == nil {
		return nil
	}
	return checkText(errs.At("deviceId"), *device, 1, 200)
}

// CheckSync bounds what a device says that it has.
func CheckSync(in []*SyncInput) error {
	if len(in) > MaxSync {
		return errs.At("installations").Because("must be at most %d entries", MaxSync)
	}
	for i, s := range in {
		if err := checkText(errs.At("installations", i, "currentVersionHash"), s.CurrentVersionHash, 0, maxTag); err != nil {
			return err
		}
	}
	return nil
}
