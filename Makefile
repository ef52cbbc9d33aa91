# What a person or a CI job types. Needs Go, git, make and bash; everything else is built from
# pinned sources the first time and kept outside the checkout (tools/build).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build tools demo test chaos conformance check fmt vet staticcheck bench microbench fuzz clean go-version

# One set of flags for build, vet and test: with different flags Go compiles every dependency again,
# and OPA and CUE take minutes. The caller's own settings must not change what is built.
export GOFLAGS := -trimpath
export CGO_ENABLED := 0
export GOWORK := off
export GOTOOLCHAIN := local

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 10s
ROUNDS ?= 200
SEED ?= $(shell date +%s)

# What demonstration and tests run: the real OpenTofu with providers in a mirror on disk, the real
# conftest and opa to compare with, and a go test that takes no skipped test for a passed one.
RUN_TOOLS := tofu terraform-provider-local terraform-provider-random terraform-provider-forge
TEST_TOOLS := conftest opa gotest postgres go-tfe terraform cue terraform-provider-time

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: go-version ## build .bin/assize
	@mkdir -p .bin
	go build -ldflags "-s -w -X main.version=$(VERSION)" -o .bin/assize ./cmd/assize

demo: build ## plan, judge, refuse, fix and apply one stack, then twelve, then two in CUE (about a minute once the tools exist)
	@tools/build $(RUN_TOOLS)
	@tools/mirror
	@demo/run.sh
	@demo/estate.sh
	@demo/spec.sh

tools: go-version ## build the pinned tools that demo, test and check run
	@tools/build $(RUN_TOOLS) $(TEST_TOOLS) staticcheck
	@tools/mirror

test: go-version ## build what the tests need, then run all of them; a skipped test is a failure
	@tools/build $(RUN_TOOLS) $(TEST_TOOLS)
	@tools/mirror
	.bin/gotest -timeout 40m ./...

chaos: go-version ## kill applies, and the server below applies, at random moments and check what is said: ROUNDS (200) of each; SEED repeats a run (about half an hour)
	@tools/build $(RUN_TOOLS) $(TEST_TOOLS)
	@tools/mirror
	ROUNDS=$(ROUNDS) SEED=$(SEED) .bin/gotest -count=1 -timeout 60m -run '^Test(Server)?Chaos$$' ./cmd/assize

conformance: go-version ## run the tests of go-tfe against the server, those too that are known to fail (docs/conformance.md)
	@tools/build gotest postgres go-tfe
	CONFORMANCE=all .bin/gotest -count=1 -parallel 6 -run '^TestConformance' ./internal/tfc

check: fmt vet staticcheck test ## everything that must hold before a change is merged

fmt: go-version
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	[ -z "$$files" ] || { printf 'gofmt would change:\n%s\nrun: gofmt -w .\n' "$$files" >&2; exit 1; }

vet: go-version
	go vet ./...

staticcheck: go-version
	@tools/build staticcheck
	.bin/staticcheck ./...

bench: build ## compare with conftest, opa, terramate, terragrunt and the pg backend of tofu, and write docs/benchmarks.md (about 25 minutes)
	@tools/build conftest opa terramate terragrunt postgres $(RUN_TOOLS)
	@tools/mirror
	go run ./internal/bench -page docs/benchmarks.md

microbench: go-version ## run the Go benchmarks
	go test -run '^$$' -bench . -benchmem ./...

fuzz: go-version ## fuzz every input boundary for FUZZTIME (10s) each
	@tools/fuzz $(FUZZTIME)

clean: ## remove what was built here; the kept tools stay (see tools/build)
	rm -rf .bin

# The highest "go" line of this module and of the tools decides, because GOTOOLCHAIN=local lets Go
# fetch no other version by itself.
go-version:
	@command -v go >/dev/null || { echo 'make: Go is not installed or not in PATH; see https://go.dev/dl' >&2; exit 1; }
	@want=$$(sed -n 's/^go //p' go.mod tools/*/go.mod | sort -V | tail -1); have=$$(go env GOVERSION); have=$${have#go}; \
	[ "$$(printf '%s\n' "$$want" "$$have" | sort -V | head -1)" = "$$want" ] || \
	{ echo "make: this needs Go $$want or later, and $$(command -v go) is $$have; see https://go.dev/dl" >&2; exit 1; }
