# Every target bootstraps its own virtual environment; the second time it costs nothing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := .venv-peers
PEERS_READY := $(PEERS)/.ready
# One BLAS thread: the matrices are small, and timings stay comparable.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: help demo test check format docs soak clean bench-surrogate bench-paper-artificial bench-optimiser bench-constraints bench-engine
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-24s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Fenceline needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,bench]"
	@touch $@

$(PEERS_READY): benchmarks/requirements-peers.txt pyproject.toml
	@test -d $(PEERS) || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]" -r benchmarks/requirements-peers.txt
	@touch $@

demo: $(READY)  ## the main job on the bundled credit data, in about a minute
	@$(BIN)/fenceline demo

test: check  ## everything CI runs: checks, then tests
	@$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(READY)  ## formatting, lint, types, import contracts
	@$(BIN)/ruff format --check . && $(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(READY)  ## let ruff rewrite the tree
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

DOCS_READY := $(VENV)/.docs-ready
$(DOCS_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@

docs: $(DOCS_READY)  ## the documentation site, warnings are errors
	@$(BIN)/sphinx-build -W -q -b html docs docs/_build && echo "docs/_build/index.html"

bench-surrogate: $(PEERS_READY)  ## our GP against scikit-learn's and scikit-optimize's
	@$(PEERS)/bin/python -m benchmarks.surrogate

bench-paper-artificial: $(PEERS_READY)  ## the paper's figures 1a-d and rho, in under 20 minutes
	@$(PEERS)/bin/python -m benchmarks.paper_artificial $(ARGS)

bench-optimiser: $(PEERS_READY)  ## the default against Optuna, SMAC3, Hyperopt and the ablation
	@$(PEERS)/bin/python -m benchmarks.optimiser $(ARGS)

bench-constraints: $(PEERS_READY)  ## constrained problems against every rival (hours; see --help)
	@$(PEERS)/bin/python -m benchmarks.constraints $(ARGS)

soak: $(READY)  ## the long tests: damaged journals by the ten thousand, kills by the dozen
	@FENCELINE_SOAK=1 $(BIN)/python -m pytest -n 2 tests/store tests/test_resume.py

bench-engine: $(PEERS_READY)  ## rates and efficiency of the engines and the journal
	@$(PEERS)/bin/python -m benchmarks.engine $(ARGS)

clean:  ## remove environments and caches
	rm -rf .venv .venv-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis out dist build
