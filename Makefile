# Everything a newcomer types starts here: `make help` says what there is.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NPM    ?= npm
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help setup up test clients check format spec bench schema lock reference wheel clean

help: ## Say what each command does
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.setup-done ## Make .venv from the lock file; does nothing that is already done

$(VENV)/.python:
	@command -v $(PYTHON) > /dev/null || { echo "There is no '$(PYTHON)'. Pressroom needs Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Pressroom needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.12 <target>"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.setup-done: requirements/setup.lock pyproject.toml | $(VENV)/.python
	@echo "Installing into $(VENV) (once, about half a minute) ..."
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/setup.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.check-done: requirements/check.lock $(VENV)/.setup-done
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/check.lock
	@touch $@

up: setup ## Start everything: database, API, workers, sandbox, example workspace
	@exec $(BIN)/pressroom up $(ARGS)

test: setup ## Run the tests (ARGS="-k push" narrows them)
	@exec $(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

clients: setup ## Install other people's bot libraries, which some tests point at the sandbox
	@$(PYTHON) -m venv $(VENV)/aiogram
	@$(VENV)/aiogram/bin/pip --disable-pip-version-check --quiet install --require-hashes --only-binary :all: \
	  -r requirements/aiogram.lock
	@command -v $(firstword $(NPM)) > /dev/null || { echo "There is no '$(firstword $(NPM))': it comes with Node 20 or newer."; exit 1; }
	@$(NPM) ci --silent --prefix tests/sandbox/clients/node

check: $(VENV)/.check-done ## Format, lint, types and import contracts, changing nothing
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports

format: $(VENV)/.check-done ## Format the code and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

spec: setup ## Print which requirements are proven by a test and which are open
	@$(BIN)/python -m tests.spec

reference: setup ## Write docs/reference anew from the code
	@$(BIN)/python -m tests.reference

bench: setup ## Run the benchmarks and write docs/benchmarks.md
	@$(BIN)/python -m bench $(ARGS)

schema: setup ## Write src/pressroom/db/schema.sql anew from the migrations
	@$(BIN)/python -m pressroom.db.snapshot

wheel: setup ## Build the wheel into dist/
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .

lock: $(VENV)/.setup-done ## Resolve the newest versions into requirements/*.lock
	@$(PIP) install uv
	@$(BIN)/python requirements/lock.py

clean: ## Remove what was built; your data stays
	@rm -rf $(VENV) dist build .pytest_cache .ruff_cache
