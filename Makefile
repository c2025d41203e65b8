.DEFAULT_GOAL := help
.PHONY: help run build web generate check/generate lint test test/go test/race test/web test/s3 test/gitea test/mutants test/update bench screenshots clean

BIN     := bin/skillgraph
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
LINT    := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0
WITHPG  := bin/withpg
SHARING := $(addprefix skillgraph/,graph graph/level internal/codehost internal/jobs internal/live internal/outbound internal/registry internal/server)
MADE    := graph/generated models/enums_gen.go models/models_gen.go docs/examples/go/generated.go

GITEA_VERSION := v1.26.0
GITEA         := bin/gitea-$(GITEA_VERSION)
GITEA_SOURCE   = $(shell go env GOMODCACHE)/code.gitea.io/gitea@$(GITEA_VERSION)

help: ## List the targets
	@grep -hE '^[a-z/]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

run: build ## Build and start the server with its own PostgreSQL and demo data; Ctrl-C stops it
	@./$(BIN) demo >/dev/null
	@exec ./$(BIN) serve

build: web ## Build bin/skillgraph, with the web pages where npm is there
	go build -ldflags '-X main.version=$(VERSION)' -o $(BIN) ./cmd/skillgraph

ifeq ($(shell command -v npm),)
web:
	@echo "npm is not installed: the server will have no web pages, only the APIs"
else
web: web/dist/playground.html ## Build the web pages
endif

web/node_modules: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

web/dist/playground.html: web/node_modules schema.graphqls web/codegen.mjs web/index.html web/playground.html web/vite.config.ts $(shell find web/src -type f -not -name '*.gen.ts' 2>/dev/null)
	cd web && npm run build
	@touch $@

generate: ## Regenerate what is made from schema.graphqls
	go run ./internal/gen
	go tool genqlient docs/examples/go/genqlient.yaml

check/generate: ## Fail when that was stale
	@rm -rf bin/.made && mkdir -p bin/.made && cp -R $(MADE) bin/.made
	@$(MAKE) --no-print-directory generate
	@for f in $(MADE); do diff -ru bin/.made/$$(basename $$f) $$f || { echo "$$f was stale: commit it"; exit 1; }; done

# The cache holds paths, so that of another checkout would report what this one excludes. With memory to spare it takes two thirds of the time.
lint: ## Run the linters
	GOGC=400 GOMEMLIMIT=4GiB GOLANGCI_LINT_CACHE=$(CURDIR)/bin/.lint $(LINT) run ./...

$(WITHPG): $(shell find internal/dbtest internal/postgres -name '*.go')
	@go build -o $@ ./internal/dbtest/withpg

test: check/generate lint web test/go test/web ## Everything: generated code, linters, Go tests, the built server in a browser

# The linters vet.
test/go: $(WITHPG) ## The Go tests, with the race detector where goroutines share memory, against a PostgreSQL of their own
	$(WITHPG) go test -vet=off $(filter-out $(SHARING),$(shell go list ./...))
	$(WITHPG) go test -vet=off -race $(SHARING)

test/race: $(WITHPG) ## The Go tests with the race detector everywhere: twice as long, so not part of test
	$(WITHPG) go test -race ./...

test/mutants: $(WITHPG) ## Put bugs into the level executor and see each of them caught; not part of test
	$(WITHPG) go run ./graph/level/mutants

test/update: $(WITHPG) ## Rewrite the golden files with what the server answers now
	UPDATE=1 $(WITHPG) go test ./resolvers ./rest ./graph/...

test/web: build ## The running server: GraphQL-over-HTTP audits, the examples of clients, the dashboard and the playground in a browser
	@web/test/run.sh

bin/versitygw:
	GOBIN=$(CURDIR)/bin go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

test/s3: bin/versitygw ## Archives in S3, as a real server speaks it; the first time it builds that server
	SKILLGRAPH_TEST_S3=$(CURDIR)/bin/versitygw go test -race -count=1 -run S3 ./internal/blob

# A code host to build takes ten minutes, once.
$(GITEA):
	go mod download code.gitea.io/gitea@$(GITEA_VERSION)
	cd $(GITEA_SOURCE) && GOFLAGS=-buildvcs=false nice go build -tags 'sqlite sqlite_unlock_notify' -o $(CURDIR)/$@ .

test/gitea: $(GITEA) ## The code-host driver against a real host that is built from source; not part of test
	SKILLGRAPH_TEST_GITEA=$(CURDIR)/$(GITEA) SKILLGRAPH_TEST_GITEA_SOURCE=$(GITEA_SOURCE) go test -count 1 -run TestGitea -v ./internal/repohost

bench: $(WITHPG) ## Measure, as ratios in one run
	$(WITHPG) go test -timeout 60m -run '^$$' -bench . -benchtime 1x ./internal/bench

screenshots: build ## Make the README's pictures again
	@web/test/screenshots.sh

clean: ## Remove what was built; data stay
	rm -rf bin web/dist/* web/node_modules web/screenshots docs/examples/typescript/node_modules docs/examples/typescript/out
