// Package demo fills a database with something to look at, through the same verbs that clients use.
package demo

import (
	"context"
	"slices"
	"time"

	"skillgraph/internal/blob"
	"skillgraph/internal/hosting"
	"skillgraph/internal/ids"
	"skillgraph/internal/repohost"
	"skillgraph/internal/store"
	"skillgraph/models"
)

const orgName = "demo"

// Load makes the demo organizations, unless they are there, and returns a key of the first one's owner. repos is the folder of
// the local code host.
func Load(ctx context.Context, s *store.Store, blobs *blob.Store, repos string, now time.Time) (string, error) {
	orgs, err := s.Organizations(ctx)
	if err != nil {
		return "", err
	}
	there := slices.ContainsFunc(orgs, func(o *models.Organization) bool { return o.Name == orgName })
	key, ada, err := owner(ctx, s, orgName, "ada@example.com", models.PlanEnterprise)
	if err != nil || there {
		return key, err
	}
	grace, err := ada.AddMember(ctx, "grace@example.com", models.RoleMember)
	if err != nil {
		return "", err
	}
	if err := sources(ctx, hosting.New(blobs, repohost.NewLocal(repos)), repos, ada, s.Org(ada.ID(), grace.ID), now); err != nil {
		return "", err
	}
	if err := suites(ctx, ada, s.Org(ada.ID(), grace.ID)); err != nil {
		return "", err
	}
	if err := telemetry(ctx, ada, demoSkills, now, 1); err != nil {
		return "", err
	}
	if err := alerts(ctx, ada); err != nil {
		return "", err
	}
	if err := runs(ctx, ada, s.Org(ada.ID(), grace.ID), now); err != nil {
		return "", err
	}
	return key, others(ctx, s, now)
}

// others are two organizations that the first one must never see.
func others(ctx context.Context, s *store.Store, now time.Time) error {
	_, linus, err := owner(ctx, s, "northwind", "linus@example.org", models.PlanTeam)
	if err != nil {
		return err
	}
	if err := telemetry(ctx, linus, demoSkills[:4], now, 2); err != nil {
		return err
	}
	_, barbara, err := owner(ctx, s, "tinkerers", "barbara@example.net", models.PlanFree)
	if err != nil {
		return err
	}
	return telemetry(ctx, barbara, demoSkills[5:7], now, 3)
}

func owner(ctx context.Context, s *store.Store, org, email string, plan models.Plan) (string, actor, error) {
	role := models.RoleOwner
	key, _, err := s.Grant(ctx, store.Grant{Org: org, Email: email, KeyName: "demo", Plan: &plan, Role: &role})
	if err != nil {
		return "", actor{}, err
	}
	v, err := s.Viewer(ctx, key)
	if err != nil {
		return "", actor{}, err
	}
	return key, s.Org(v.OrgID, v.UserID), nil
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
