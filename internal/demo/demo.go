// Package demo fills a database with something to look at, through the same verbs that clients use.
package demo

import (
	"context"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

const orgName = "demo"

// Load makes the demo organization, unless it is there, and returns a key of its owner.
func Load(ctx context.Context, s *store.Store) (string, error) {
	plan, owner, member := models.PlanEnterprise, models.RoleOwner, models.RoleMember
	orgs, err := s.Organizations(ctx)
	if err != nil {
		return "", err
	}
	there := false
	for _, o := range orgs {
		there = there || o.Name == orgName
	}
	key, _, err := s.Grant(ctx, store.Grant{Org: orgName, Email: "ada@example.com", KeyName: "demo", Plan: &plan, Role: &owner})
	if err != nil || there {
		return key, err
	}
	ada, err := s.Viewer(ctx, key)
	if err != nil {
		return "", err
	}
	grace, err := s.Org(ada.OrgID, ada.UserID).AddMember(ctx, "grace@example.com", member)
	if err != nil {
		return "", err
	}
	return key, suites(ctx, s.Org(ada.OrgID, ada.UserID), s.Org(ada.OrgID, grace.ID))
}

// actor is somebody at work: one of the demo organization's people.
type actor = store.Org

func suites(ctx context.Context, ada, grace actor) error {
	var first ids.ID
	for i, in := range demoSuites {
		by := ada
		if i%2 == 1 {
			by = grace
		}
		s, err := by.CreateSuite(ctx, in)
		if err != nil {
			return err
		}
		if i == 0 {
			first = s.ID
		}
		if i == len(demoSuites)-1 {
			if _, err := ada.ArchiveSuite(ctx, s.ID, true); err != nil {
				return err
			}
		}
	}
	for i, change := range demoChanges {
		by := grace
		if i%2 == 1 {
			by = ada
		}
		if _, err := by.UpdateSuite(ctx, first, change, nil); err != nil {
			return err
		}
	}
	return nil
}
