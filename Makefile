# make help says what there is.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Otherwise a program with the race detector sleeps for a second before each exit.
export GORACE = atexit_sleep_ms=0
# It adds to what go says, when that fails, what can be done about it.
GO_SH = GO='$(GO)' $(CURDIR)/tools/make/go.sh

# These are set on the command line: make demo KEEP=1. The environment does not count, where the same names are often
# those of something else.
KEEP =
CONTEXT =
PORT =
NODES =
REAL =
JSON =
PICTURE =
PEER =
BENCH =
ALL =
# Of each kind of random history in memory, make test draws so many. The race detector, with which they take ten times as long,
# finds nothing in a history: a few show that the controller works with it.
HISTORIES = $(if $(all),1000,150)
raced = 25
VERSION = $(shell sed -n 's/^appVersion: *"\{0,1\}\([^"]*\)"\{0,1\}$$/\1/p' charts/reroll/Chart.yaml)
ARCH = $(shell $(GO) env GOARCH 2>/dev/null)
REPOSITORY = localhost/reroll
IMAGE = $(REPOSITORY):$(VERSION)
LDFLAGS := -s -w -X github.com/reroll-dev/reroll/internal/buildinfo.version=$(VERSION)

keep := $(filter-out 0 no false,$(KEEP))
real := $(filter-out 0 no false,$(REAL))
all := $(filter-out 0 no false,$(ALL))

# What is built from source is pinned by modules of their own. Those that only a release needs are left out here: to see that they
# are tidy takes what all of their tests are made of, and the release builds them from their sums anyway. So is the old Kubernetes.
OLDEST = 1.25
MODULES = tools/golangci-lint tools/helm tools/kube-score test/promql test/browser $(patsubst %/go.mod,%,$(filter-out %/kubernetes-$(OLDEST)/go.mod,$(wildcard test/cluster/tools/*/go.mod)))

# Everything but what needs a program that Go cannot build (containerd, for the image), and what takes minutes by itself.
# What takes longest begins first.
APART = ./test/edges ./test/lease ./test/permissions ./test/demo ./test/chart ./test/docs
FIRST = ./test/scenarios ./test/faults ./internal/intake
ALL_PACKAGES = $(patsubst github.com/reroll-dev/reroll/%,./%,$(shell $(GO) list ./...))
PACKAGES = $(FIRST) $(filter-out $(FIRST) $(APART) $(TOOLS) ./test/image ./test/node ./test/csi ./test/release ./test/gitops%,$(ALL_PACKAGES))
# The tests of what other tests are made of: that changes seldom, so they have a target of their own.
TOOLS = ./test/cluster ./test/harness ./test/simapi ./test/stage ./tools/make ./tools/suite
# These start a Kubernetes, or use what is built for one, or wait for minutes.
ON_A_CLUSTER = ./test/cluster% ./test/scenarios ./test/faults ./test/stamp ./internal/intake ./internal/lease
UNITS = $(filter-out $(ON_A_CLUSTER),$(PACKAGES))
# The race detector finds nothing where nothing runs side by side, and costs ten times the time of what computes. Tests on a
# cluster build the controller with it, and of what else they are made of only some is tried with it (make nightly: all).
SIDE_BY_SIDE = $(patsubst %/,./%,$(sort $(dir $(shell grep -rlE --include='*.go' '^\s*go [a-z]|"sync["/]|\.Go.func' internal bench tools/suite test/harness test/cluster test/stage test/app test/argocd test/story))))
# These run without it as well: what measures how time grows is left out of what is built with the race detector. So are the tests
# of internal/state that draw much, where nothing is concurrent.
TWICE = ./internal/clientset ./internal/reload $(filter-out ./internal/controller,$(patsubst %/,./%,$(sort $(dir $(shell grep -rlE --include='*.go' '^//go:build.*!race' internal)))))
# In these, nothing is concurrent, and each takes ten seconds and more with the race detector.
ALONE = ^(TestKeptSeeds|TestKeptSeedsOfBundles|TestEachByteOfAMessageDecodesAsInApimachinery|TestNoLedgerShowsWhetherAForeignSourceExists)$$
# The names of the tests in the files that a command finds, each with a bar behind it.
tests_of = $(shell grep -hoE '^func Test\w+' $$($(1)) | sed -z 's/func //g; s/\n/|/g')
# The tests of the chart that need nothing but Helm. What Helm reads, go test does not know, so it has to run them each time.
RENDERED = $(patsubst %|,%,$(call tests_of,grep -LE 'newInstaller|stage\.|KUBE_SCORE|promql' test/chart/*_test.go))
# These are left out of what is built with the race detector: the commands that they compare with the controller need not be.
WITHOUT_RACE = $(call tests_of,grep -lE '^//go:build !race' internal/controller/*_test.go)
# What tests do is to make garbage, here and in the Kubernetes that they start: to collect it less often saves a fifth of their time.
# The packages of a run share one control plane, and the run ends with what it cost. What go vet knows, make lint does, and to
# link a test takes a third less time without what only a debugger reads.
TEST = GOGC=400 GO='$(GO)' $(CURDIR)/bin/suite -vet=off -ldflags=-w
RACE =
# Tests on a control plane start the controller that is built here once, for all packages. It is the one that users get: each
# process with the race detector takes almost three times as much time. CI has that one in scenarios and in histories.
STARTED = REROLL_BINARY=$(CURDIR)/bin/reroll$(with-race)
with-race = $(if $(all)$(RACE),-race)
histories: with-race = -race
# These are two runs of go test at the same time.
parts = -- -p $(2) $(RACE) $(filter-out $(filter-out $(TWICE),$(SIDE_BY_SIDE)),$(1)) -- -p $(2) -race -skip '$(ALONE)' $(filter $(SIDE_BY_SIDE),$(1))
# This is a further one: what is kept or drawn, by name.
histories = -- $(RACE) -run '$(1)' REROLL_HISTORIES=$(2) $(3) ./internal/controller
# make test begins with another history each time, and shows with which one; CI judges a change by the same ones each time.
base := $(or $(REROLL_BASE),$(shell date +%s%3N))
# The scenarios of kinds that not all clusters have take two control planes of their own.
ON_SOME_CLUSTERS = TestKinds|TestWithoutStreamedLists
# These try the words of scenarios, as make test-tools does the rest of what tests are made of.
OF_WORDS = TestAScenarioFailsAndSaysWhy|TestAControllerThatEndsByItselfFailsTheScenario|TestWordsThatNeedNoController
N = 200

##@ See it
.PHONY: demo demo-waves demo-gitops cluster-up cluster-down

demo: $(if $(CONTEXT),,linux) preflight ## Reroll doing its main job on a throwaway cluster (KEEP=1: leave it running; CONTEXT=name: your cluster)
	@$(GO_SH) build -o bin/demo ./test/demo
	@bin/demo $(if $(keep),--keep) $(if $(CONTEXT),--context='$(CONTEXT)')

demo-waves: linux preflight ## A shared ConfigMap gets bad data, which stops at the canary (on real nodes where they can run; KEEP=1: leave it running)
	@$(GO_SH) build -o bin/demo ./test/demo
	@bin/demo --waves $(if $(keep),--keep)

demo-gitops: linux preflight ## Reroll beside the real Argo CD, from the first commit to the last (minutes; KEEP=1: leave it running)
	@$(GO_SH) build -o bin/demo-gitops ./test/gitops/demo
	@bin/demo-gitops $(if $(keep),--keep)

cluster-up: linux preflight ## A throwaway Kubernetes on loopback; prints the KUBECONFIG line (PORT=n, NODES=n, REAL=1: nodes that run containers)
	@$(GO_SH) build -o bin/throwaway ./test/cluster/cmd/throwaway
	@bin/throwaway up $(if $(PORT),--port='$(PORT)') $(if $(NODES),--nodes='$(NODES)') $(if $(real),--real)

cluster-down: linux preflight ## End it, and a demo that was kept
	@$(GO_SH) build -o bin/throwaway ./test/cluster/cmd/throwaway
	@bin/throwaway down

##@ Build
.PHONY: build build-race image release-dry-run generate dashboard-picture ui-pictures

build: preflight ## The binary, in bin/
	@$(GO_SH) build -ldflags '$(LDFLAGS)' -o bin/reroll ./cmd/reroll

build-race: cgo
	@$(GO_SH) build -race -ldflags '$(LDFLAGS)' -o bin/reroll-race ./cmd/reroll

image: preflight ## One tar for docker load, kind load image-archive and ctr images import (ARCH=arm64)
	@# Measured on two cores: GOCACHE=$$(mktemp -d) make image takes 291 s of processor time, and again 4 s.
	@echo "Building the image $(IMAGE) for linux/$(ARCH) from source: about 3 minutes on two cores the first time, seconds afterwards"
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) $(GO_SH) build -trimpath -ldflags '$(LDFLAGS)' -o bin/reroll-linux-$(ARCH) ./cmd/reroll
	@$(GO_SH) run ./tools/image -binary bin/reroll-linux-$(ARCH) -arch $(ARCH) -tag $(IMAGE) -o bin/reroll-image.tar

release-dry-run: preflight ## All that a release consists of, in bin/release, published nowhere (VERSION=1.2.3 REPOSITORY=name)
	@$(GO_SH) run ./tools/release -version '$(VERSION)' -repository '$(REPOSITORY)' -o bin/release

# Whoever changed one of these has what is made from them generated again before the tests, and sees it in git status.
MADE_FROM = $(shell find charts/reroll internal/config internal/kinds internal/rules test/scenarios/testdata/custom-kinds-values.yaml tools/flags tools/overlays tools/values)
bin/generated: $(MADE_FROM) | bin/helm
	@$(MAKE) --no-print-directory generate && touch $@

generate: bin/helm ## What is made from something else: deploy/ and the README.md of the chart, docs/reference/flags.md
	@mkdir -p deploy
	@# Plain YAML is not rendered for a cluster: whether there are Argo Rollouts, whoever chooses a file says.
	@for mode in "reroll --set reloader.isArgoRollouts=false" \
		"reroll-namespaced --set reloader.isArgoRollouts=false --set reloader.watchGlobally=false" \
		"reroll-argo-rollouts --set reloader.isArgoRollouts=true" \
		"reroll-argo-rollouts-namespaced --set reloader.isArgoRollouts=true --set reloader.watchGlobally=false" \
		"reroll-csi --set reloader.isArgoRollouts=false --set reloader.enableCSIIntegration=true" \
		"reroll-trust-bundles --set reloader.isArgoRollouts=false --set reloader.enableClusterTrustBundles=true" \
		"reroll-reference-grants --set reloader.isArgoRollouts=false --set reloader.enableReferenceGrants=true" \
	"reroll-csi-namespaced --set reloader.isArgoRollouts=false --set reloader.enableCSIIntegration=true --set reloader.watchGlobally=false" \
		"admission-policy --set reloader.admissionPolicy.enabled=true --show-only templates/admissionpolicy.yaml" \
		"prometheus-rule --set reloader.prometheusRule.enabled=true --show-only templates/prometheusrule.yaml"; do \
		set -- $$mode; file=deploy/$$1.yaml; shift; \
		{ echo "# Generated from charts/reroll by make generate."; \
		  bin/helm template reroll charts/reroll --skip-tests --namespace reroll "$$@"; } > $$file.new && mv $$file.new $$file || exit 1; \
	done
	@{ echo "# Generated from charts/reroll by make generate."; \
	  bin/helm template reroll charts/reroll --skip-tests --namespace reroll -f test/scenarios/testdata/custom-kinds-values.yaml; } > test/scenarios/testdata/custom-kinds.yaml
	@# Of the kustomize base there is a copy, because a kustomization takes nothing from outside of its folder.
	@mkdir -p deploy/kustomize/base && cp deploy/reroll.yaml deploy/kustomize/base/reroll.yaml
	@for overlay in "namespaced|One_namespace,_without_cluster-wide_permissions --set reloader.isArgoRollouts=false --set reloader.watchGlobally=false" \
		"ha|Two_replicas_with_leader_election --set reloader.isArgoRollouts=false --set reloader.enableHA=true --set reloader.deployment.replicas=2 --set reloader.podDisruptionBudget.enabled=true"; do \
		set -- $$overlay; name=$${1%%|*}; title=$${1#*|}; shift; \
		bin/helm template reroll charts/reroll --skip-tests --namespace reroll "$$@" > bin/overlay.yaml && \
		$(GO_SH) run ./tools/overlays -base deploy/reroll.yaml -variant bin/overlay.yaml -title "$${title//_/ }" -o deploy/kustomize/overlays/$$name || exit 1; \
	done
	@$(GO_SH) run ./tools/flags > docs/reference/flags.md.new && mv docs/reference/flags.md.new docs/reference/flags.md
	@$(GO_SH) run ./tools/values > charts/reroll/README.md.new && mv charts/reroll/README.md.new charts/reroll/README.md

dashboard-picture: linux preflight ## docs/images/dashboard.svg: the panels of the dashboard, from a controller at work on a throwaway cluster (ten minutes)
	@$(GO_SH) run ./test/dashboard/picture

ui-pictures: linux cgo chromium ## docs/images/ui-*.webp: the pages of reroll ui on a throwaway cluster (minutes; Debian: apt-get install chromium)
	@$(GO_SH) run ./test/cluster/cmd/throwaway build
	@cd test/browser && GOWORK=off $(GO_SH) run ./pictures

##@ Check
.PHONY: check test lint verify test-image test-node test-browser lag test-release test-edges test-tools test-oldest test-gitops histories mutants nightly fresh-histories

# Before each commit, only random histories have the race detector, and only packages that changed are linted. The tests that
# need a cluster are compiled.
check: LINTED = changed
check: RACE = -race
check: build cgo lint suite ## Before each commit: build, lint, and all tests of Reroll's code that need no cluster (a minute; what has not changed is not run again)
	$(GO_SH) vet $(filter-out $(UNITS),$(ALL_PACKAGES))
	REROLL_BASE=1 $(TEST) -timeout 10m -- -p 2 -skip 'Histories|OnAnAPIServer' $(UNITS) ./internal/intake $(call histories,Histories,$(raced))

test: LINTED = $(if $(all),,changed)
test: linux build$(with-race) build cgo lint suite bin/generated ## Before a pull request: build, lint, unit tests, what the chart renders, scenarios on a real control plane (ALL=1: also of kinds that not all clusters have, and more histories; HISTORIES=n)
	@$(GO_SH) run ./test/cluster/cmd/throwaway build $(if $(all),argo-rollouts )clients
	@# Not all histories in memory are drawn, because they take minutes; ALL=1 draws more, and those that are kept always
	@# run. Two are on a real API server: each takes 8 s of processor time.
	HELM=$(CURDIR)/bin/helm $(STARTED) REROLL_BASE=1 REROLL_REAL_HISTORIES=2 $(TEST) -timeout 1h $(if $(all),,-skip '^($(OF_WORDS)|$(ON_SOME_CLUSTERS))$$') \
		$(call parts,$(PACKAGES),2) REROLL_HISTORIES=$(raced) -- -count=1 -run '^($(RENDERED))$$' ./test/chart $(call histories,$(WITHOUT_RACE)Histories|KeptSeeds,$(HISTORIES),REROLL_BASE=$(base))

LINTED =
lint: preflight bin/golangci-lint ## gofmt and the linters of .golangci.yml, which do what go vet does
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
		[ -z "$$unformatted" ] || { echo "Not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	cd test/cluster/tools/node && GOWORK=off $(GO_SH) vet . && GOWORK=off $(GO) test .
	@GO='$(GO)' tools/make/lint.sh $(LINTED)
	cd test/browser && GOWORK=off $(CURDIR)/bin/golangci-lint run --allow-parallel-runners ./...

verify: generate ## Generate again and fail if the tree changed, or a go.mod is not tidy
	@for module in . $(MODULES); do \
		( cd $$module && GOWORK=off $(GO_SH) mod tidy -diff ) || { echo "$$module/go.mod is not tidy. Run there: go mod tidy"; exit 1; }; \
	done
	@changed=$$(git status --porcelain -- deploy test/scenarios/testdata docs/reference/flags.md charts/reroll/README.md go.mod go.sum); \
		[ -z "$$changed" ] || { git --no-pager diff -- deploy test/scenarios/testdata docs/reference/flags.md charts/reroll/README.md; echo "What is generated is not what was committed. Run make generate and commit:"; echo "$$changed"; exit 1; }

test-image: image cgo suite ## Load the image into containerd (Debian: apt-get install containerd)
	$(TEST) $(RACE) -count=1 -timeout 10m ./test/image

test-node: linux preflight suite ## Containers on real nodes: what they have read, and what kubelets say; the Secrets Store CSI driver (Debian: apt-get install containerd runc iproute2)
	@$(GO_SH) run ./test/cluster/cmd/throwaway build argo-rollouts clients argo-cd real-nodes secrets-store
	@# Tests on nodes mostly wait for them, so more than processors run at a time.
	$(TEST) -count=1 -parallel 4 -timeout 40m ./test/node ./test/csi

test-browser: linux cgo chromium suite ## The pages of reroll ui in Chromium: readers, hostile names, restarts, keyboard, accessibility (Debian: apt-get install chromium)
	@$(GO_SH) run ./test/cluster/cmd/throwaway build
	cd test/browser && GOWORK=off $(TEST) -count=1 -timeout 30m .

# For docs/explanation/ledger.md: how long after an edit a kubelet still gives a new Pod the data before it. An interrupt ends it
# with the figures so far.
lag: linux preflight ## Start N Pods on real nodes at random moments after edits, and print how old the data is that they read
	@$(GO_SH) run ./test/cluster/cmd/throwaway build clients real-nodes
	REROLL_NODE_LAG_PODS=$(N) $(GO) test -count=1 -timeout 3h -v -run TestNewPodsHaveTheData ./test/node

test-release: preflight bin/helm suite ## Two clones make the same release, one of them without anything from before
	HELM=$(CURDIR)/bin/helm $(TEST) -count=1 -timeout 40m ./test/release

test-edges: linux build$(with-race) build cgo suite bin/helm bin/kube-score ## Sizes, numbers and odd moments, the lease between processes, permissions taken away, the chart value by value, the pages block by block (minutes)
	@$(GO_SH) run ./test/cluster/cmd/throwaway build clients
	@cd test/promql && GOWORK=off $(GO_SH) build -o /dev/null .
	HELM=$(CURDIR)/bin/helm $(STARTED) KUBE_SCORE=$(CURDIR)/bin/kube-score $(TEST) $(RACE) -count=1 -timeout 30m $(APART)

test-tools: linux build$(with-race) cgo suite ## What Reroll is tried with: the throwaway cluster, the harness, the words of scenarios, the API in memory beside a real one, the Makefile (minutes)
	@$(GO_SH) run ./test/cluster/cmd/throwaway build clients
	$(STARTED) $(TEST) -count=1 -timeout 20m $(call parts,$(TOOLS),1) -- -p 1 -run '^($(OF_WORDS))$$' ./test/scenarios

test-oldest: linux build$(with-race) suite ## The scenarios on the oldest Kubernetes that Reroll supports
	@$(GO_SH) run ./test/cluster/cmd/throwaway build argo-rollouts
	THROWAWAY_KUBERNETES=$(OLDEST) $(STARTED) $(TEST) $(RACE) -count=1 -timeout 1h ./test/scenarios

test-gitops: linux build$(with-race) suite ## Beside the real Argo CD, Flux, Helm and kubectl, which are built at the first time (minutes)
	@$(GO_SH) run ./test/cluster/cmd/throwaway build argo-rollouts clients argo-cd flux
	$(STARTED) $(TEST) $(RACE) -count=1 -timeout 40m ./test/gitops/...

histories: build-race suite ## Faults and kills drawn at random, between the controller and a real API server (N=200)
	@# The controller is built with the race detector; what is around it needs no more than the histories of make test.
	$(STARTED) REROLL_REAL_HISTORIES=$(N) $(TEST) -count=1 -timeout 3h -v -run Histories ./test/faults

mutants: linux build bin/helm ## Break Reroll on purpose, one way at a time: each has to turn a test red
	@$(GO_SH) run ./test/cluster/cmd/throwaway build
	HELM=$(CURDIR)/bin/helm $(STARTED) $(GO) run ./tools/mutants

nightly: cgo ## What takes hours: each mutant, 100,000 fresh histories in memory, 500 on a real API server, and all tests with the race detector
	@# Each runs also if one before it failed.
	@failed=; for each in mutants fresh-histories "histories N=500" "test ALL=1 RACE=-race" "test-edges RACE=-race" "test-tools RACE=-race" "test-gitops RACE=-race"; do $(MAKE) $$each || failed="$$failed $$each"; done; \
		[ -z "$$failed" ] || { echo "Failed:$$failed"; exit 1; }

fresh-histories: suite
	$(TEST) -timeout 0 -- -count=1 -run EveryMinute REROLL_WINDOWS=600 ./internal/window -- -count=1 -v -run Histories REROLL_HISTORIES=100000 ./internal/controller \
		-- -count=100 -run WhateverComesWavesHold ./internal/gate

##@ Measure
.PHONY: bench bench-check

bench: linux preflight ## What it costs, beside limits and targets (half an hour at least; JSON=file, PICTURE=file, PEER="command line", BENCH="-only=storm …")
	@$(GO_SH) build -o bin/bench ./bench
	@bin/bench $(if $(JSON),-json='$(JSON)') $(if $(PICTURE),-picture='$(PICTURE)') $(if $(PEER),-peer='$(PEER)') $(BENCH)

bench-check: linux preflight ## Less of everything; fails when a ratio, a number of requests or the memory is beyond twice its target (minutes)
	@$(GO_SH) build -o bin/bench ./bench
	@bin/bench -check $(BENCH)

##@ Other
.PHONY: help clean clean-cache preflight linux cgo chromium suite

clean: ## Remove what was built here
	rm -rf bin

clean-cache: ## Remove the built Kubernetes from the user's cache folder
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/reroll/cluster"

help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' Makefile
	@printf '\n%s\n' 'make check before each commit, make test before a pull request; each change has to pass .ci/run.'

preflight:
	@$(GO_SH) sources -test ./...

linux:
	@[ "$$(uname -s)" = Linux ] || { echo "The throwaway cluster needs Linux, and this is $$(uname -s). Use a virtual machine; make demo CONTEXT=name works with a cluster you have."; exit 1; }

cgo: preflight
	@cc=$$($(GO) env CC); command -v $${cc%% *} >/dev/null || { echo "The race detector needs a C compiler, and there is no '$$cc'. Debian: apt-get install gcc libc6-dev"; exit 1; }

chromium:
	@[ -n "$$CHROMIUM" ] || command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null || { echo "The pages are opened in Chromium, which is not installed. Debian: apt-get install chromium"; exit 1; }

suite: preflight
	@$(GO_SH) build -o bin/suite ./tools/suite

# Each is the one tool that its module pins, and built again when that changes.
tool = $(@F)
link-helm = -X helm.sh/helm/v4/internal/version.version=$$($(GO) list -m -f '{{.Version}}' helm.sh/helm/v4)
define build-tool
	@echo "Building $(tool) (once; about 2 minutes on two cores)"
	@mkdir -p bin && cd tools/$(tool) && export CGO_ENABLED=0 GOWORK=off && $(GO_SH) sources tool && \
		$(GO_SH) build -ldflags "-s -w $(link-$(tool))" -o $(CURDIR)/$@ tool && touch $(CURDIR)/$@
endef

bin/golangci-lint: tools/golangci-lint/go.mod tools/golangci-lint/go.sum | preflight
	$(build-tool)

bin/helm: tools/helm/go.mod tools/helm/go.sum | preflight
	$(build-tool)

bin/kube-score: tools/kube-score/go.mod tools/kube-score/go.sum | preflight
	$(build-tool)

# What publishes a release.
bin/crane: tools/crane/go.mod tools/crane/go.sum | preflight
	$(build-tool)

bin/cosign: tools/cosign/go.mod tools/cosign/go.sum | preflight
	$(build-tool)
