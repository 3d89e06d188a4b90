# What a contributor runs. Only Go is needed for build, demo and test; test-kafka
# and bench also take Java 17 or later and Maven, bench takes kcat, jq, gzip
# and zstd too.

GO       ?= go
KCM      ?= bin/kcm
FUZZTIME ?= 10s

GOLANGCI_VERSION   := v2.15.0
GORELEASER_VERSION := v2.15.4
TOOLS      := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kcm-tools
GOLANGCI   := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
GORELEASER := $(TOOLS)/goreleaser-$(GORELEASER_VERSION)/goreleaser

TEST ?= $(GO) test # CI: .ci/tests
RACE ?=
ifneq ($(RACE),)
# Without the option every program that a script runs waits a second at its end.
test: export GORACE = atexit_sleep_ms=10
RACEFLAG := -race
endif

.PHONY: build demo test test-kafka soak fuzz lint release-check generate bench bench-record bench-page bench-list profile bench-follow tools clean help

build: ## build bin/kcm
	$(GO) build -trimpath -ldflags '-s -w' -o bin/kcm .

demo: build ## two embedded clusters, one stream over both
	@PATH="$(CURDIR)/bin:$$PATH" sh docs/demo.sh

test: ## all tests on embedded clusters; RACE=1 adds the race detector
	$(TEST) -p=4 $(RACEFLAG) ./... # many tests wait more than they work

test-kafka: ## the tests that also run on Apache Kafka, on Apache Kafka
	.ci/test-kafka

soak: export KCM_SOAK = 1
soak: ## the long trials: many edits of the metadata under load, many clusters, many hours of a virtual clock, many kills, many files
	$(GO) test -count 1 -timeout 30m -v -run '^TestAnHourOfChanges$$' ./internal/source
	$(GO) test -tags kafka -count 1 -timeout 60m -v -run '^(TestEditsOf.*|TestManyClusters|TestIdleOnManyPartitions|TestFilesThroughKills|TestThousandsOfFiles)$$' ./internal/e2e

fuzz: ## every fuzz target for FUZZTIME each
	.ci/fuzz $(FUZZTIME)

lint: $(GOLANGCI) ## the linters and the formatter
	$(GOLANGCI) run ./...

release-check: $(GORELEASER) ## the release configuration
	$(GORELEASER) check

generate: ## completions and other generated files
	$(GO) generate ./...

COMPARE = $(GO) test -tags kafka -count 1 -timeout 90m -run '^TestCompare$$' -v ./bench -args --
TODAY   := $(shell date -u +%F)

bench: build ## compare with kcat, jq, the console consumer and a bare kgo loop; BENCH='-rows raw -out FILE'
	$(COMPARE) -kcm $(abspath $(KCM)) $(BENCH)

bench-record: build ## the same, kept in bench/results and copied to docs/benchmarks.md
	$(COMPARE) -kcm $(abspath $(KCM)) -out bench/results/$(TODAY).md -docs docs/benchmarks.md $(BENCH)

bench-page: ## copy the tables of RESULT, a file in bench/results, to docs/benchmarks.md
	$(GO) run ./bench -copy $(RESULT) -docs docs/benchmarks.md

bench-list: ## the rows of bench
	@$(GO) run ./bench -list

ROW ?= raw/small-lz4
profile: build ## the functions that take the CPU time of one row of bench; ROW=raw/small-lz4
	$(COMPARE) -kcm $(abspath $(KCM)) -profile $(ROW) $(BENCH)

bench-follow: build ## from an edit of the metadata to the first record of a cluster that it adds
	$(GO) test -tags kafka -count 1 -timeout 30m -run '^TestEdit$$' -v ./bench -args -- -kcm $(abspath $(KCM)) $(BENCH)

tools: $(GOLANGCI) $(GORELEASER) ## build the pinned tools, once, outside the checkout

$(GOLANGCI):
	GOFLAGS= GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(GORELEASER):
	GOFLAGS= GOBIN=$(@D) $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

clean: ## remove what was built
	rm -rf bin dist manpages kcm

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "  %-14s %s\n", $$1, $$2}'
