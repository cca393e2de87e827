# A fresh machine needs Python 3.11+ and make, nothing more: each target makes .venv when it must.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
PYTEST := OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/pytest
COMPILED := $(shell grep -rl --include='*.py' numba src/bocce)
FRAMEWORK_BENCHMARKS := $(wildcard benchmarks/torch_*.py benchmarks/optax_*.py benchmarks/ray_*.py)
BENCHMARKS := $(filter-out benchmarks/_% $(FRAMEWORK_BENCHMARKS),$(sort $(wildcard benchmarks/*.py)))

.PHONY: help venv test test-frameworks test-slow test-browser lint bench reproduce clean
.DEFAULT_GOAL := help

help: ## show this text
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-16s %s\n", $$1, $$2}'

venv: .venv/installed ## make .venv and install bocce into it, editable

test: .venv/installed .venv/kernels ## tests of the core, scikit-learn and plots, with doctests
	$(PYTEST) -n 2 -m 'not slow and not frameworks and not browser'

# One process a framework: Ray forks, which JAX in the same process forbids.
test-frameworks: .venv/frameworks .venv/kernels ## tests of the torch, optax and ray adapters
	@set -e; for name in torch optax ray; do \
		$(PYTEST) -m 'frameworks and not slow' tests/frameworks/test_$${name}*.py \
			$$(ls -d src/bocce/$$name src/bocce/$$name.py 2>/dev/null); \
	done

test-slow: .venv/installed .venv/kernels ## the tests that take minutes
	$(PYTEST) -n 2 -m 'slow and not frameworks' || [ $$? -eq 5 ]

test-browser: .venv/installed .venv/kernels ## the report in chromium (apt-get install chromium chromium-driver)
	$(PYTEST) tests/browser -m browser -rs

lint: .venv/installed ## ruff, types of the checked packages, and the rooms' import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The frameworks' own benchmarks run where `make test-frameworks` has installed them.
bench: .venv/installed .venv/kernels ## measure: the ratios that docs/benchmarks.md quotes
	@set -e; for script in $(BENCHMARKS) $(if $(wildcard .venv/frameworks),$(FRAMEWORK_BENCHMARKS)); do echo "== $$script"; $(BIN)/python $$script; done

reproduce: .venv/installed .venv/kernels ## the paper's figures, quick profile, into results/
	$(BIN)/bocce reproduce all --profile quick --out results

clean: ## remove caches, builds and compiled kernels; .venv and results/ stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("bocce needs Python 3.11+; try make PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing bocce and what it is tested with into .venv"
	@$(PIP) --editable '.[sklearn,plots,data,symbolic,dev]'
	@touch $@

# torch first and alone: pinned, so that the CPU build is the one that is found.
.venv/frameworks: .venv/installed
	@echo "installing torch, optax and ray into .venv"
	@$(PIP) torch==2.13.0
	@$(PIP) --editable '.[torch,optax,ray]'
	@touch $@

# Numba's cache looks at a kernel's own file only: a change in what it imports would not be seen.
.venv/kernels: $(COMPILED) | .venv/installed
	@find src/bocce -name '*.nb[ic]' -delete
	@touch $@
