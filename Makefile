# Every target bootstraps its own virtual environment; the second time it costs nothing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEV_READY := $(VENV)/.dev-ready
BROWSER := $(VENV)/.browser
PEERS  := .venv-peers
PEERS_READY := $(PEERS)/.ready
AUTOML := .venv-automl
AUTOML_READY := $(AUTOML)/.ready
# One BLAS thread: the matrices are small, and timings stay comparable.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
# Every child imports our modules: compiled once, they load in three quarters of the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check format docs soak dist clean bench-surrogate bench-paper-artificial bench-optimiser bench-constraints bench-ablation bench-first-feasible bench-engine bench-prefix bench-memory bench-long-run bench-automl bench-decisions bench-fences bench-newcomer bench-wide bench-certificates bench-controls bench-sequences bench-solvers bench-paper-tables learn-starts
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-24s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Fenceline needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# Everything the tests need, real Dask, Ray, Optuna, MLflow and ONNX included; the demo waits for none of it.
$(DEV_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,bench,dask,ray,optuna,mlflow,onnx]"
	@touch $@

$(BROWSER): $(READY)
	@.ci/chromium
	@touch $@

$(PEERS_READY): benchmarks/requirements-peers.txt pyproject.toml
	@test -d $(PEERS) || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]" -r benchmarks/requirements-peers.txt
	@touch $@

$(AUTOML_READY): benchmarks/requirements-automl.txt pyproject.toml
	@test -d $(AUTOML) || $(PYTHON) -m venv $(AUTOML)
	@$(AUTOML)/bin/python -m pip install --quiet --disable-pip-version-check --editable . -r benchmarks/requirements-automl.txt
	@touch $@

# Rivals whose pins exclude each other have an environment each; one that does not install is reported as such.
RIVALS := tpot autogluon mljar
RIVALS_READY := $(RIVALS:%=.venv-%/.tried)
.venv-%/.tried: benchmarks/requirements-%.txt
	@test -d .venv-$* || $(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -r $< || \
	  { echo "$* does not install here: the run goes on without it"; rm -f .venv-$*/bin/python; }
	@touch $@

demo: $(READY)  ## the main job on the bundled credit data, in about a minute
	@$(BIN)/fenceline demo --out out/demo

# One more than two processors: tests of clusters and limits wait for a fifth of their time.
TESTERS ?= 3
test: check $(BROWSER)  ## everything CI runs: checks, then tests
	@$(BIN)/python -m pytest -n $(TESTERS) --dist worksteal

check: $(DEV_READY)  ## formatting, lint, types, import contracts
	@$(BIN)/ruff format --check . && $(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(DEV_READY)  ## let ruff rewrite the tree
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

DOCS_READY := $(VENV)/.docs-ready
$(DOCS_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@

docs: $(DOCS_READY)  ## run the Python of every page and example, and build the site; warnings are errors
	@$(BIN)/python -m pytest -q tests/test_examples.py -k python_blocks
	@$(BIN)/sphinx-build -W -q -b html docs docs/_build && echo "docs/_build/index.html"

bench-surrogate: $(PEERS_READY)  ## our GP against scikit-learn's and scikit-optimize's
	@$(PEERS)/bin/python -m benchmarks.surrogate

bench-paper-artificial: $(PEERS_READY)  ## the paper's figures 1a-d and rho, in under 20 minutes
	@$(PEERS)/bin/python -m benchmarks.paper_artificial $(ARGS)

bench-paper-tables: $(PEERS_READY)  ## the paper's appendix E on its eight sets, at a smaller budget (resumes)
	@$(PEERS)/bin/python -m benchmarks.paper_tables $(ARGS)

bench-solvers: $(READY)  ## every solver of ADMM on problems of every kind, some minutes on one core
	@$(BIN)/python -m benchmarks.solvers $(ARGS)

bench-optimiser: $(PEERS_READY)  ## the default against Optuna, SMAC3, Hyperopt and the ablation
	@$(PEERS)/bin/python -m benchmarks.optimiser $(ARGS)

bench-constraints: $(PEERS_READY)  ## constrained problems against every rival, then the paper's figure 2 (about an hour)
	@$(PEERS)/bin/python -m benchmarks.constraints $(ARGS)
	@$(PEERS)/bin/python -m benchmarks.credit_fence --minutes 15

bench-ablation: $(READY)  ## the default and ADMM() on the same surrogate, with constraints and without
	@$(BIN)/python -m benchmarks.multipliers $(ARGS)

MINUTES ?= 5
soak: $(DEV_READY)  ## the long tests, and random fault schedules for MINUTES on each engine (SEED repeats them)
	@FENCELINE_SOAK=1 $(BIN)/python -m pytest -n 2 tests/store tests/evaluation --deselect tests/evaluation/engines/test_soak.py::test_random_schedules_from_a_printed_seed_lose_nothing_and_leave_nothing
	@FENCELINE_SOAK=1 FENCELINE_SOAK_MINUTES=$(MINUTES) $(if $(SEED),FENCELINE_SOAK_SEED=$(SEED)) \
	  $(BIN)/python -m pytest tests/evaluation/engines/test_soak.py -k random_schedules

dist: $(DEV_READY)  ## wheel and sdist, the wheel installed alone and used with every Python there is
	@$(BIN)/python .ci/dist.py

bench-first-feasible: $(PEERS_READY)  ## how soon searches are inside a tight fence, and how soon anybody could be
	@$(PEERS)/bin/python -m benchmarks.first_feasible $(ARGS)

bench-engine: $(PEERS_READY)  ## rates and efficiency of the engines and the journal
	@$(PEERS)/bin/python -m benchmarks.engine $(ARGS)

bench-prefix: $(PEERS_READY)  ## what shared first steps save on a batch of pipelines
	@$(PEERS)/bin/python -m benchmarks.prefix $(ARGS)

bench-memory: $(PEERS_READY)  ## all processes together on a large table
	@$(PEERS)/bin/python -m benchmarks.memory $(ARGS)

bench-long-run: $(READY)  ## memory of a search of 10,000 evaluations (a few minutes)
	@$(BIN)/python -m benchmarks.long_run $(ARGS)

bench-automl: $(AUTOML_READY) $(RIVALS_READY)  ## sixteen tables, three budgets, every rival at equal wall time (two hours)
	@$(AUTOML)/bin/python -m benchmarks.automl $(ARGS)

bench-decisions: $(AUTOML_READY)  ## twelve tables, five fences, the answer by hand and fairlearn beside ours (two hours)
	@$(AUTOML)/bin/python -m benchmarks.decisions $(ARGS)

bench-fences: $(AUTOML_READY)  ## two fences that cut off FLAML's own pick, on six tables (75 minutes)
	@$(AUTOML)/bin/python -m benchmarks.fences $(ARGS)

learn-starts: $(AUTOML_READY)  ## which pipelines a search should begin with, learnt from tables (an hour on one core; resumes)
	@$(AUTOML)/bin/python -m benchmarks.learn_starts $(ARGS)

bench-wide: $(READY)  ## the wide space against the default, sixteen tables at 60 s (half an hour)
	@$(BIN)/python -m benchmarks.wide $(ARGS)

bench-newcomer: $(READY)  ## ours against a booster with a threshold by hand: TABLE=fairness/dutch_census FENCE=dpd=.15 GROUP=sex
	@$(BIN)/python -m benchmarks.newcomer $(TABLE) $(if $(FENCE),--fence $(FENCE)) $(if $(GROUP),--group $(GROUP)) $(ARGS)

bench-certificates: $(READY)  ## false certificates and certified shares of simulated searches (about half an hour)
	@$(BIN)/python -m benchmarks.certificates $(ARGS)

bench-controls: $(READY)  ## false certificates of models fitted on real rows, with and without a control (about half an hour)
	@OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.controls $(ARGS)

bench-sequences: $(READY)  ## orders of tests, replayed on sixty real searches (two hours the first time; resumes)
	@OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.sequences $(ARGS)

clean:  ## remove environments and caches
	rm -rf .venv .venv-peers .venv-automl $(RIVALS:%=.venv-%) .mypy_cache .ruff_cache .pytest_cache .hypothesis out dist build docs/_build docs/gallery
