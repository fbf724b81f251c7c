# For developers. Schedulers call bin/switchback itself: make turns every failing exit code into 2.

GO       ?= go
BIN      := bin/switchback
FUZZTIME ?= 10s
PYTHON   ?= python3
ROWS     ?= 24000000
# Tests need no cmd/switchback/default.pgo: for it every package would be compiled a second time.
PLAIN    := -pgo=off
LINT_VERSION := $(shell sed -n '1s/^\# golangci-lint \([0-9.]*\).*/\1/p' .golangci.yml)
LINT     := .bin/golangci-lint-$(LINT_VERSION)

.DEFAULT_GOAL := help
.PHONY: help tools build run test test-slow test-cluster race bench bench-analysis bench-cluster bench-peers profile fuzz golden docs example lint check dist dist-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: ## check that Go and a C/C++ compiler are there (the static DuckDB needs them)
	@$(GO) version >/dev/null 2>&1 || { echo "switchback needs Go 1.26 or newer: no '$(GO)' in PATH (https://go.dev/dl)" >&2; exit 1; }
	@v=$$($(GO) env GOVERSION 2>/dev/null); v=$${v:-$$(cd / && $(GO) env GOVERSION)}; n=$${v#go}; n=$${n%%[!0-9.]*}; \
	major=$${n%%.*}; rest=$${n#*.}; minor=$${rest%%.*}; \
	[ "$$major" -gt 1 ] || [ "$$minor" -ge 26 ] || { echo "switchback needs Go 1.26 or newer: this is $$v" >&2; exit 1; }
	@for tool in "$${CC:-gcc}" "$${CXX:-g++}"; do command -v $${tool%% *} >/dev/null 2>&1 || \
	{ echo "switchback needs a C/C++ compiler for DuckDB: no '$${tool%% *}' in PATH (Debian: apt-get install g++)" >&2; exit 1; }; done
	@[ "$$($(GO) env CGO_ENABLED)" = 1 ] || { echo "switchback needs cgo for DuckDB: unset CGO_ENABLED, or set it to 1" >&2; exit 1; }

build: tools ## build bin/switchback
	$(GO) build -o $(BIN) ./cmd/switchback

run: build ## build, run the built-in experiment and print its result
	$(BIN) run

test: tools ## run the tests
	$(GO) test $(PLAIN) -timeout 20m ./...

test-slow: tools ## run the tests with the slow ones (minutes)
	SWITCHBACK_SLOW=1 $(GO) test $(PLAIN) -timeout 60m ./...

test-cluster: tools ## run the tests of rows in a ClickHouse cluster: two shards on loopback ports
	@command -v clickhouse-server >/dev/null 2>&1 || { echo "make test-cluster needs clickhouse-server: not in PATH (Debian: apt-get install clickhouse-server)" >&2; exit 1; }
	SWITCHBACK_CLUSTER=1 $(GO) test -count=1 -timeout 30m ./ingest/warehouse
	SWITCHBACK_CLUSTER=1 $(GO) test -count=1 -timeout 30m -run Warehouse ./cmd/switchback

race: tools ## run the short tests under the race detector
	$(GO) test $(PLAIN) -race -short -timeout 20m ./...

bench: tools ## run the benchmark of every stage
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-analysis: tools ## analyse a file of 24 M rows: seconds by stage, memory (some minutes, most to make the file)
	SWITCHBACK_SLOW=1 $(GO) test ./ingest -run '^$$' -bench '^BenchmarkAnalysis$$' -benchtime 1x -timeout 30m

bench-cluster: tools ## the report of ROWS rows (default 24000000) in two ClickHouse servers, in one and in DuckDB, stage by stage (PRIORITY: of the round-robin class)
	@command -v clickhouse-server >/dev/null 2>&1 || { echo "make bench-cluster needs clickhouse-server: not in PATH (Debian: apt-get install clickhouse-server)" >&2; exit 1; }
	SWITCHBACK_CLUSTER=1 SWITCHBACK_BENCH_ROWS=$(ROWS) SWITCHBACK_BENCH_PRIORITY=$(PRIORITY) $(GO) test -count=1 -timeout 4h -v -run '^TestBenchCluster$$' ./cmd/switchback

bench-peers: tools ## bootstrap a million rows here and with scipy: same answer, ratio of times (PYTHON: one that has scipy)
	@$(PYTHON) -c 'import scipy' >/dev/null 2>&1 || { echo "bench-peers compares with scipy, which '$(PYTHON)' does not have: pip install scipy, or set PYTHON to one that has it" >&2; exit 1; }
	SWITCHBACK_PEERS=1 PYTHON='$(PYTHON)' $(GO) test -count=1 -timeout 30m -v -run '^TestPeers$$' ./stats

profile: tools ## measure anew where the time goes: the compiler makes the program faster there (cmd/switchback/default.pgo)
	rm -rf .profile && mkdir .profile
	$(GO) test -trimpath -pgo=off -run '^$$' -bench '^BenchmarkRun$$' -benchtime 2x -cpuprofile run -outputdir $(CURDIR)/.profile -o .profile/run.test ./cmd/switchback
	$(GO) test -trimpath -pgo=off -run '^$$' -bench ToTable -benchtime 3x -cpuprofile load -outputdir $(CURDIR)/.profile -o .profile/load.test ./ingest
	$(GO) tool pprof -proto -symbolize=none -output cmd/switchback/default.pgo .profile/run .profile/load
	rm -rf .profile

fuzz: tools ## fuzz every parser for FUZZTIME (default 10s) each
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

golden: tools ## write the expected outputs of the tests anew; look at the diff
	$(GO) test ./reports/... ./router/request -update

docs: tools ## write the generated parts of the documents anew
	$(GO) test ./cmd/switchback -run 'Document|Generated' -update

example: build ## write docs/example anew: the report of the built-in experiment
	rm -rf .example
	$(BIN) run --out .example
	rm -rf docs/example && mkdir docs/example
	cp .example/latest/report.md .example/latest/*.svg docs/example
	rm -rf .example
	$(GO) test ./cmd/switchback -run Generated -update

$(LINT): | tools
	GOBIN=$(CURDIR)/.bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION)
	mv .bin/golangci-lint $@

lint: tools ## check layout, names, comments, import directions (installs the pinned linter into .bin)
	@have=$$(golangci-lint version --short 2>/dev/null || true); \
	if [ "$$have" = "$(LINT_VERSION)" ]; then echo golangci-lint run; golangci-lint run; \
	else $(MAKE) --no-print-directory $(LINT) && echo $(LINT) run && $(LINT) run; fi

check: ## what .ci/run runs: tests, calibration, lint, race
	.ci/run

dist: tools ## build the release archives for linux amd64 and arm64 into dist (arm64 needs its cross compiler)
	GO='$(GO)' .ci/dist

dist-check: tools ## build the archives of the last commit in two folders, and compare their bytes
	GO='$(GO)' .ci/dist-check

clean: ## remove what the targets here built, and what the documents' commands left in docs/tutorial
	rm -rf bin .bin .example .profile dist switchback-out
	rm -rf $(addprefix docs/tutorial/,switchback-out again missing read-back replayed sample simulated staged)
	rm -f $(addprefix docs/tutorial/,requests.parquet checked.txt table.txt read-back.csv sample.csv)
