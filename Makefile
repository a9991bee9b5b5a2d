# Verbs of the project. `make help` lists them; each sets itself up.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_SYNC := $(BIN)/uv pip sync --quiet --require-hashes
UV_EDITABLE := $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable . --editable nodeagent
LINTED := dra_console nodeagent tests manage.py $(wildcard benchmarks)

# Half the time of a start is compiling: keep what was compiled, where the environment says not to.
export PYTHONDONTWRITEBYTECODE :=

CHECK_ENV := DRA_CONSOLE_SECRET_KEY=check DRA_CONSOLE_DATABASE_URL=sqlite:////tmp/dra-check.sqlite3

.PHONY: help
help: ## List the verbs
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(BIN)/uv: requirements/tools.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "make: $(PYTHON) is missing or older than 3.11; set PYTHON=python3.11 or newer (apt install python3)" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { echo "make: $(PYTHON) cannot make a virtual environment: apt install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/tools.txt
	@touch $@

# Everything that the product needs; enough for `make demo` and `make run`.
$(VENV)/.base: requirements/base.txt $(BIN)/uv
	@test -e $(VENV)/.dev || { echo "Installing the product's dependencies"; $(UV_SYNC) requirements/tools.txt requirements/base.txt && $(UV_EDITABLE); }
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(BIN)/uv
	@echo "Installing the development dependencies"
	@$(UV_SYNC) requirements/tools.txt requirements/dev.txt
	@$(UV_EDITABLE)
	@touch $(VENV)/.base $@

.PHONY: setup
setup: $(VENV)/.dev ## Install everything that development needs into .venv

.PHONY: system-packages
system-packages: # On Debian as root: the servers and the browser that tests use
	@deploy/system-packages

.PHONY: demo
demo: $(VENV)/.base ## Run the whole product here, with simulated GPUs, until Ctrl-C
	@$(BIN)/python -m dra_console.demo $(DEMO)

.PHONY: run
run: $(VENV)/.base ## Run the console on a cluster: KUBECONFIG=path [CONTEXT=name]; RUN=--help says more
	@$(BIN)/python -m dra_console.running --kubeconfig "$(KUBECONFIG)" --context "$(CONTEXT)" $(RUN)

# Each run of the tests tries scenarios that nobody has seen; the printed seed repeats them.
ifndef DRA_ORACLE_SEED
DRA_ORACLE_SEED := $(shell date +%s)
endif
export DRA_ORACLE_SEED

# PostgreSQL where it is installed; the mirror, where the two databases differ most, on SQLite too.
TEST_DATABASE = $(if $(or $(filter true,$(CI)),$(wildcard /usr/lib/postgresql/*/bin/initdb)),postgresql,sqlite)
TEST_FILES_APART := -p tests.order --dist loadfile --no-loadscope-reorder

.PHONY: test
test: setup system-packages ## Run all tests, with real servers and Chromium; TESTS=path runs some
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory oracle-build; fi
	@echo "Fresh scenarios for the oracle: DRA_ORACLE_SEED=$(DRA_ORACLE_SEED)"
ifdef TESTS
	DRA_TEST_DATABASE=$(TEST_DATABASE) $(BIN)/python -m pytest -q $(TESTS)
else
	DRA_TEST_DATABASE=$(TEST_DATABASE) $(BIN)/python -m pytest -q -n 4 $(TEST_FILES_APART) --ignore=tests/e2e --ignore=tests/cluster tests
	@$(MAKE) --no-print-directory --jobs=2 test-e2e test-sqlite
endif

# Side by side, since browsers mostly wait. Two bars of dots in one would tell nothing, so the
# shorter run is shown when it is over.
.PHONY: test-e2e test-sqlite
test-e2e:
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/e2e
test-sqlite:
	@shown=$$(DRA_TEST_DATABASE=sqlite $(BIN)/python -m pytest -q -n 2 $(TEST_FILES_APART) tests/unit/sync tests/unit/mirror tests/integration/scheduling 2>&1); \
	status=$$?; printf '\nOn SQLite:\n%s\n' "$$shown"; exit $$status

.PHONY: e2e
e2e: setup system-packages ## Run the browser walk alone and renew the README's screenshots
	DRA_SCREENSHOTS=docs/images $(BIN)/python -m pytest -q -n 2 --dist loadfile tests/e2e

.PHONY: cluster-tools
cluster-tools: $(VENV)/.base ## Build a real Kubernetes into a cache folder, once (a quarter of an hour)
	@$(BIN)/python -m tests.cluster.tools

.PHONY: nodeagent-image
nodeagent-image: $(VENV)/.base ## Build the node agent's image without a registry, as an OCI archive (on Debian as root)
	@$(BIN)/python -m tests.cluster.tools.agent_image $(or $(OUT),dra-nodeagent.oci.tar)

.PHONY: cluster
cluster: cluster-tools ## Run a real Kubernetes here until Ctrl-C; CLUSTER=--help says its options
	@$(BIN)/python -m tests.cluster $(CLUSTER)

.PHONY: test-cluster
test-cluster: setup system-packages ## Run the tests that need a real Kubernetes; TESTS=path runs some
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory cluster-tools; fi
ifdef TESTS
	DRA_TEST_DATABASE=$(TEST_DATABASE) $(BIN)/python -m pytest -q $(TESTS)
else
	DRA_TEST_DATABASE=$(TEST_DATABASE) $(BIN)/python -m pytest -q -n 2 $(TEST_FILES_APART) tests/cluster
endif

.PHONY: oracle-build
oracle-build: # Kubernetes' own allocator as a program; Go fetches the modules
	cd tests/oracle && go build -o bin/oracle .

.PHONY: oracle
oracle: setup oracle-build ## Compare 10,000 scenarios of each series, and selectors, with Kubernetes' own code
	$(BIN)/python -m tests.oracle $(ORACLE)
	$(BIN)/python -m tests.oracle.expressions $(EXPRESSIONS)

.PHONY: node-lives
node-lives: setup ## Live 10,000 random lives of a node's claims, 200 more with a driver (a quarter of an hour)
	DRA_NODE_SEQUENCES=10000 DRA_DRIVER_SEQUENCES=200 $(BIN)/python -m pytest -q tests/unit/nodeagent/test_sequences.py tests/integration/nodeagent/nvml/test_sequences.py

.PHONY: bench
bench: setup ## Time the allocator beside a plain one and upstream's; renews docs/benchmarks.md
	$(BIN)/python -m benchmarks.allocator --document docs/benchmarks.md --json docs/benchmarks.json $(BENCH)

.PHONY: bench-sync
bench-sync: setup system-packages ## Time mirroring on both databases; renews docs/benchmarks-sync.md
	$(BIN)/python -m benchmarks.sync --document docs/benchmarks-sync.md --json docs/benchmarks-sync.json $(BENCH)

.PHONY: bench-scheduling
bench-scheduling: setup system-packages ## Time how long claims wait for devices; renews docs/benchmarks-scheduling.md
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory cluster-tools; fi
	$(BIN)/python -m benchmarks.allocating --document docs/benchmarks-scheduling.md --json docs/benchmarks-scheduling.json $(BENCH)

.PHONY: bench-whatif
bench-whatif: setup ## Time what-if answers on 5,000 nodes; renews docs/benchmarks-whatif.md
	$(CHECK_ENV) DJANGO_SETTINGS_MODULE=dra_console.settings $(BIN)/python -m benchmarks.whatif --document docs/benchmarks-whatif.md --json docs/benchmarks-whatif.json $(BENCH)

.PHONY: bench-nodeagent
bench-nodeagent: setup ## Weigh an idle node agent with 8 GPUs; renews docs/benchmarks-nodeagent.md
	$(CHECK_ENV) $(BIN)/python -m benchmarks.nodeagent --document docs/benchmarks-nodeagent.md --json docs/benchmarks-nodeagent.json $(BENCH)

.PHONY: check
check: setup ## Format, lint, layers, types, templates, scripts, migrations
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/ruff check $(LINTED)
	$(BIN)/lint-imports
	$(CHECK_ENV) $(BIN)/mypy $(LINTED)
	$(CHECK_ENV) $(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/djlint --quiet --check --lint templates
	@if command -v go >/dev/null; then for module in tests/oracle tests/cluster/tools/cdi; do (cd $$module && test -z "$$(gofmt -l .)" && go vet ./...) || exit 1; done; fi
	@if command -v node >/dev/null; then for script in static/js/*.js; do node --check "$$script" || exit 1; done; fi

.PHONY: proto
proto: setup ## Generate the gRPC code again from the .proto files
	$(BIN)/python -m nodeagent.kubelet.proto.generate
	$(BIN)/python -m dra_console.devcluster.proto.generate

.PHONY: lock
lock: $(BIN)/uv ## Resolve the dependencies again and write the hash-pinned lock files
	@for name in tools base nodeagent dev; do \
	  $(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-emit-index-url \
	    --python-version 3.11 requirements/$$name.in -o requirements/$$name.txt; \
	done

.PHONY: clean
clean: ## Remove the state of demo and runs, and all caches
	rm -rf .demo .run .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
