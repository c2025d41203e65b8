// Package demo fills a database with something to look at, through the same verbs that clients use.
package demo

import (
	"context"
	"slices"

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
func Load(ctx context.Context, s *store.Store, blobs *blob.Store, repos string, clock *Clock) (string, error) {
	now := clock.Now()
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
	own := newShelf(blobs, clock, slices.Concat(demoSteps, csvSteps), ada, s.Org(ada.ID(), grace.ID))
	own.forge = newForge(s, own, repos)
	if err := telemetry(ctx, ada, demoSkills, own, 1); err != nil {
		return "", err
	}
	if err := alerts(ctx, ada); err != nil {
		return "", err
	}
	if err := runs(ctx, ada, s.Org(ada.ID(), grace.ID), now); err != nil {
		return "", err
	}
	if err := signals(ctx, s, ada, now); err != nil {
		return "", err
	}
	linus, barbara, public, err := others(ctx, s, blobs, clock)
	if err != nil {
		return "", err
	}
	v, err := s.Viewer(ctx, key)
	if err != nil {
		return "", err
	}
	if err := bundles(ctx, v.UserID, []actor{s.Org(ada.ID(), grace.ID), linus, barbara}, now); err != nil {
		return "", err
	}
	return key, own.install(ctx, ada, public, "ada-laptop")
}

// others are two organizations of which the first one must see no more than a public entry.
func others(ctx context.Context, s *store.Store, blobs *blob.Store, clock *Clock) (linus, barbara actor, public ids.ID, err error) {
	if _, linus, err = owner(ctx, s, "northwind", "linus@example.org", models.PlanTeam); err != nil {
		return linus, barbara, public, err
	}
	theirs := newShelf(blobs, clock, otherSteps, linus)
	if err := telemetry(ctx, linus, demoSkills[:4], theirs, 2); err != nil {
		return linus, barbara, public, err
	}
	if _, barbara, err = owner(ctx, s, "tinkerers", "barbara@example.net", models.PlanFree); err != nil {
		return linus, barbara, public, err
	}
	return linus, barbara, theirs.entries["letter-writer"], telemetry(ctx, barbara, demoSkills[5:7], newShelf(blobs, clock, nil), 3)
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
