# Every target works on a bare machine: manage.py makes .venv first. `make` alone explains the targets.
PYTHON ?= python3
BIN := .venv/bin
# Type checks and migration checks load the settings; they must not touch the user's own data folder.
CHECK_ENV := CONTEXTVIZ_DATA_DIR=$(CURDIR)/.local/check

.PHONY: help setup run worker test check fmt demo bench lock
.DEFAULT_GOAL := help

help: ## show this
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

setup: ## make .venv with the test tools (manage.py does the same on its first start)
	@$(PYTHON) manage.py setup --dev

run: ## start everything: web server and worker
	@$(PYTHON) manage.py up

worker: ## run one more worker by itself
	@$(PYTHON) manage.py worker

demo: ## load the demo session
	@$(PYTHON) manage.py demo

test: ## run all tests; ARGS="tests/events -x" narrows
	@$(PYTHON) manage.py test $(ARGS)

schemathesis: ## send 200 random requests and every bound to each operation of the API (some minutes)
	@SCHEMATHESIS_EXAMPLES=200 $(PYTHON) manage.py test tests/api/test_schemathesis.py $(ARGS)

check: setup ## format, lint, types, floors, migrations; no test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(CHECK_ENV) $(BIN)/mypy
	$(BIN)/lint-imports
	$(CHECK_ENV) $(BIN)/python manage.py makemigrations --check --dry-run

fmt: setup ## format, and repair what the linter can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: setup ## what reading and importing cost, beside a bare parser; ARGS="--mb 200" and more, see docs/bench.md
	$(BIN)/python -m bench $(ARGS)

lock: setup ## write both lock files anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --universal --generate-hashes --no-header --no-annotate --upgrade -o requirements.lock
	uv pip compile pyproject.toml --extra dev --universal --generate-hashes --no-header --no-annotate \
		-c requirements.lock -o requirements-dev.lock
