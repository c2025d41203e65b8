package demo

import (
	"bytes"
	"context"
	"path/filepath"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/internal/hosting"
	"skillgraph/internal/ids"
	"skillgraph/internal/repohost/gitrepo"
	"skillgraph/models"
)

// pdfVersions are the folders that were uploaded, one after the other. The first one is not quite right.
var pdfVersions = []map[string]string{
	{
		"SKILL.md": "---\nname: PDF Forms\nversion: 0.1\n---\n# PDF forms\n\nRead the fields of the form, then fill them in.\n",
	},
	{
		"SKILL.md":          pdfSkill + "1. List the fields with `scripts/fields.py`.\n2. Ask for what is missing.\n3. Fill them in.\n",
		"scripts/fields.py": "import sys\n\nprint(\"fields of\", sys.argv[1])\n",
	},
	{
		"SKILL.md":            pdfSkill + "1. List the fields with `scripts/fields.py`.\n2. Ask for what is missing, all at once.\n3. Fill them in, and show the result before you save it.\n",
		"scripts/fields.py":   "import sys\n\nif len(sys.argv) != 2:\n    sys.exit(\"usage: fields.py FORM\")\nprint(\"fields of\", sys.argv[1])\n",
		"evals/triggers.json": `[{"query": "Fill in the tax form in ~/forms/1040.pdf", "should_trigger": true}, {"query": "Which fields of this form are required?", "should_trigger": true}, {"query": "Find me a recipe for sourdough", "should_trigger": false}]`,
		"evals/output.json":   `{"evals": [{"prompt": "Fill in the form", "expected_output": "A form with no empty required field"}]}`,
	},
}

const pdfSkill = "---\nname: pdf-forms\ndescription: Fills in PDF forms. Use when somebody has a form and the answers.\nlicense: MIT\n---\n# PDF forms\n\n"

// sqlCommits are what the repository held, one after the other.
var sqlCommits = []map[string]string{
	{
		"README.md":                  "# Skills of the data team\n",
		"skills/sql-review/SKILL.md": "---\nname: sql-review\ndescription: Reviews SQL for slow scans and missing indexes. Use before a query or a migration is merged.\n---\n# SQL review\n\nAsk for the plan first.\n",
	},
	{
		"README.md":                             "# Skills of the data team\n",
		"skills/sql-review/SKILL.md":            "---\nname: sql-review\ndescription: Reviews SQL for slow scans and missing indexes. Use before a query or a migration is merged.\n---\n# SQL review\n\nAsk for the plan first. See references/locks.md for migrations.\n",
		"skills/sql-review/references/locks.md": "# Locks\n\nAn index is built concurrently, or not at all.\n",
	},
}

// sources makes a source that was uploaded thrice, with a suite of its evals, and one of a repository.
func sources(ctx context.Context, h *hosting.Hosting, repos string, ada, grace actor, now time.Time) error {
	var id *ids.ID
	for _, files := range pdfVersions {
		in := models.UploadSourceInput{Label: graphql.OmittableOf(new("PDF forms")), SourceID: graphql.OmittableOf(id), Files: graphql.OmittableOf(parts(files))}
		saved, err := h.Upload(ctx, grace, in)
		if err != nil {
			return err
		}
		id = &saved.Source.ID
	}
	if _, err := h.ImportSuite(ctx, grace, *id, nil); err != nil {
		return err
	}
	if _, _, err := ada.BindInstallation(ctx, &models.RepoInstallation{InstallationID: 1, AccountLogin: orgName, AccountType: models.AccountTypeOrganization}, true); err != nil {
		return err
	}
	return repository(ctx, h, repos, ada, now)
}

func parts(files map[string]string) []*models.SourceFileInput {
	out := []*models.SourceFileInput{}
	for path, text := range files {
		out = append(out, &models.SourceFileInput{Path: path, Content: graphql.Upload{File: bytes.NewReader([]byte(text)), Size: int64(len(text))}})
	}
	return out
}

// repository makes a repository, and a source that has read it after every commit.
func repository(ctx context.Context, h *hosting.Hosting, repos string, ada actor, now time.Time) error {
	var source *models.CloudSource
	for i, files := range sqlCommits {
		at := now.AddDate(0, 0, i-len(sqlCommits))
		_, err := gitrepo.Commit(filepath.Join(repos, orgName, "skills.git"), "main", gitrepo.Files(files), at)
		if err != nil {
			return err
		}
		if source == nil {
			if source, err = h.Create(ctx, ada, models.CreateSourceInput{
				Type: models.SourceTypeRepohost, Label: "SQL review", InstallationID: graphql.OmittableOf(new(int64(1))),
				RepoFullName: graphql.OmittableOf(new(orgName + "/skills")), SkillPath: graphql.OmittableOf(new("skills/sql-review")),
			}); err != nil {
				return err
			}
		}
		if _, err := h.Sync(ctx, ada, source.ID); err != nil {
			return err
		}
	}
	return nil
}
