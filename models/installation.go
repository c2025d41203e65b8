package models

import (
	"regexp"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// RepoInstallation is an account of the code host that an organization may read repositories of.
type RepoInstallation struct {
	bun.BaseModel `bun:"table:repo_installations,alias:t"`

	OrgID          ids.ID      `bun:"org_id,pk"`
	ID             ids.ID      `bun:"id,pk"`
	InstallationID int64       `bun:"installation_id"`
	AccountLogin   string      `bun:"account_login"`
	AccountType    AccountType `bun:"account_type"`
	Suspended      bool        `bun:"suspended"`
	CreatedAt      time.Time   `bun:"created_at"`
	UpdatedAt      time.Time   `bun:"updated_at"`
}

// accountName is the name of an account. It is a folder of the local code host, and so no step in a path.
var accountName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// CheckAccount is the rule for the name of an account.
func CheckAccount(at errs.Path, login string) error {
	if err := checkText(at, login, 1, 100); err != nil {
		return err
	}
	if !accountName.MatchString(login) {
		return at.Because("must be letters, digits, hyphens, dots or underscores, and must not begin with a dot")
	}
	return nil
}

// Installation makes the installation that the input describes.
func (in BindInstallationInput) Installation() (*RepoInstallation, error) {
	if in.InstallationID < 1 {
		return nil, errs.At("installationId").Because("must be positive")
	}
	return &RepoInstallation{
		InstallationID: in.InstallationID, AccountLogin: in.AccountLogin, AccountType: in.AccountType, Suspended: or(in.Suspended.Value(), false),
	}, CheckAccount(errs.At("accountLogin"), in.AccountLogin)
}
