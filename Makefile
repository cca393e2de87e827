# A fresh machine needs Python 3.11+ and make, nothing more: each target makes .venv when it must.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
PYTEST := OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/pytest
CORE := not slow and not frameworks and not browser

.PHONY: help venv test test-explore test-frameworks test-slow test-browser test-oldest coverage lint bench docs reproduce dist benchopt audit clean
.DEFAULT_GOAL := help

help: ## show this text
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-16s %s\n", $$1, $$2}'

venv: .venv/installed ## make .venv and install bocce and bocce-paper into it, editable

test: .venv/installed ## tests of the core, scikit-learn, plots and the paper, with doctests
	$(PYTEST) -n 2 -m '$(CORE)'

# The seed is printed, so that what fails can be drawn again: make test-explore SEED=...
SEED ?= $(shell date +%s)
test-explore: .venv/installed ## the tests of the core on examples never drawn before
	@echo "hypothesis seed: $(SEED)"
	HYPOTHESIS_PROFILE=explore $(PYTEST) -n 2 -m '$(CORE)' --hypothesis-seed=$(SEED) $(ARGS)

# One process a framework: Ray forks, which JAX in the same process forbids.
test-frameworks: .venv/frameworks ## tests of the torch, optax and ray adapters
	@set -e; for name in torch optax ray; do \
		$(PYTEST) -m 'frameworks and not slow' tests/frameworks/test_$${name}*.py \
			$$(ls -d src/bocce/$$name src/bocce/$$name.py 2>/dev/null); \
	done

test-slow: .venv/installed ## the tests that take minutes
	$(PYTEST) -n 2 -m 'slow and not frameworks' || [ $$? -eq 5 ]

test-browser: .venv/installed ## the report and the explorer in chromium (apt-get install chromium chromium-driver)
	$(PYTEST) tests/browser paper/tests/test_report.py -m browser -rs

# Old packages warn of what newer neighbours will drop: those warnings alone are let be. The import
# contract is lint's affair, and an old rich brings an old linter that words its answer otherwise;
# scikit-learn 1.6 does not see the column names of polars 2, and beside array-api-compat cannot
# import the tools of its own checks unless SciPy's array API is on.
test-oldest: .venv-oldest/installed ## the tests of the core with the oldest dependencies allowed
	SCIPY_ARRAY_API=1 NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/kernels OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} .venv-oldest/bin/pytest \
		-p no:cacheprovider -W ignore::DeprecationWarning \
		--deselect tests/test_architecture.py::test_imports_point_down \
		--deselect 'tests/sklearn/test_sklearn_native.py::test_frames_and_their_names[polars]' -m '$(CORE)' $(ARGS)

# What Numba compiles is not traced: kernels count as untouched.
coverage: .venv/installed ## lines that the tests of the core reach: figures, not a target
	$(PYTEST) -n 2 -m '$(CORE)' --cov=bocce --cov=bocce_paper --cov-report=term:skip-covered $(ARGS)

lint: .venv/installed ## ruff, types of the checked packages, the rooms' import contract, style and docstrings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/check_style.py
	$(BIN)/python docs/check_docstrings.py

# Benchmarks of torch and Ray fail, and the report says so, where `make test-frameworks` has not
# installed them.
bench: .venv/installed ## measure: short runs of the benchmarks, ratios into results/bench.json
	$(BIN)/python benchmarks/run.py

# From nothing each time: the gallery's cache does not see a change in the package.
docs: .venv/docs ## the site, into docs/_build/html: no warning, no broken link
	rm -rf docs/_build docs/auto_examples docs/api/generated
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m sphinx -q -W --keep-going docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

reproduce: .venv/installed ## every figure and table at the paper's own sizes, judged, into results/
	$(BIN)/bocce reproduce all --out results

dist: .venv/installed ## build wheels and sdists into dist/, and try them in a clean environment
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m build --outdir dist paper
	$(BIN)/python tests/release/check_dist.py dist
	@for python in python3.12 python3.13; do \
		if $$python -c '' 2>/dev/null; then echo "== $$python"; $$python tests/release/check_dist.py dist || exit 1; \
		else echo "$$python is not on this machine: not tried"; fi; \
	done

# benchopt wants an older joblib: an environment of its own. Its benchmarks are public repositories.
BENCHOPT ?= benchmark_logreg_l2 benchmark_ridge
benchopt: .venv-benchopt/installed ## bocce in benchopt's benchmarks: make benchopt BENCHOPT="path path"
	OMP_NUM_THREADS=1 .venv-benchopt/bin/python -W ignore benchmarks/benchopt/run.py $(BENCHOPT) --picture docs/_static/benchopt.png

audit: .venv/installed ## known vulnerabilities of what is installed, where the advisories can be reached
	@$(PIP) pip-audit
	$(BIN)/pip-audit --skip-editable --progress-spinner off

clean: ## remove caches, builds and compiled kernels; .venv and results/ stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples paper -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/installed: pyproject.toml paper/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("bocce needs Python 3.11+; try make PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing bocce and what it is tested with into .venv (1 to 3 minutes)"
	@$(PIP) --editable '.[sklearn,plots,data,symbolic,certify,dev]' --editable ./paper
	@touch $@

# torch first and alone: pinned, so that the CPU build is the one that is found.
.venv/frameworks: .venv/installed
	@echo "installing torch, optax and ray into .venv (some minutes)"
	@$(PIP) torch==2.13.0
	@$(PIP) --editable '.[torch,optax,ray]'
	@touch $@

# Each lower bound of both pyproject.toml, exactly: the pins are derived, so that they cannot drift.
.venv-oldest/installed: pyproject.toml paper/pyproject.toml
	@test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	@echo "installing bocce and its oldest dependencies into .venv-oldest"
	@.venv-oldest/bin/python -m pip install -qq --disable-pip-version-check --editable '.[dev]' --editable ./paper \
		$$(.venv-oldest/bin/python tests/release/oldest.py sklearn plots data symbolic certify)
	@touch $@

.venv-benchopt/installed: pyproject.toml
	@test -x .venv-benchopt/bin/python || $(PYTHON) -m venv .venv-benchopt
	@.venv-benchopt/bin/python -m pip install -qq 'benchopt<1.8' 'joblib<1.5' matplotlib --editable '.[sklearn,data]'
	@touch $@

.venv/docs: .venv/frameworks
	@echo "installing Sphinx and what it needs into .venv"
	@$(PIP) --editable '.[docs]'
	@touch $@
