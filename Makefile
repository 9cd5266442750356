# Every target explains itself: `make help`.
PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000
PYTEST_ARGS ?=
# tests wait as often as they compute; each process brings servers of its own, so many cores are no reason for many
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 8 ? n + 1 : 8)))
PROJECT ?= default
OLDER_THAN ?= 30d

BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
LOCK := requirements/constraints.txt
TRAIN_LOCK := requirements/train.txt
CODE := client openenv_server app benchmarks evaluator grading launcher migrations train workers tests examples modal_app.py

.DEFAULT_GOAL := help
.PHONY: help env venv run demo train-demo doctor workers key purge test chaos lint fmt lock clean distclean kernelbench

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  PORT=8000       where 'make run' listens and 'make demo' looks for a server"
	@echo "  PROJECT=default OLDER_THAN=30d  for 'make key' and 'make purge'; python -m grading.cli has more"
	@echo "  PYTHON=python3  the interpreter that creates $(VENV) (3.11 or newer)"
	@echo "  PYTEST_ARGS=    more arguments for pytest, such as PYTEST_ARGS='tests/app -x'"
	@echo "  JOBS=$(JOBS)          how many processes share the tests; 0 runs them one after another in one"

run: $(RUN_READY)  ## migrate, then serve API, workers, broker and reaper on http://127.0.0.1:8000
	@PORT=$(PORT) exec $(BIN)/python -m launcher

demo: $(RUN_READY)  ## a wrong kernel, then a right one, against a running server or one of its own
	@PORT=$(PORT) exec $(BIN)/python -m launcher.demo

kernelbench: $(RUN_READY)  ## fetch KernelBench at the commit that splits and audits are for, into KernelBench/
	@$(BIN)/python -m evaluator.tasks.fetch KernelBench

train-demo: $(DEV_READY)  ## train a tiny policy on real grades, on the CPU or one GPU, into .data/train-demo
	@$(BIN)/python -m train.tiny

doctor: $(RUN_READY)  ## say whether each part of this installation works, and what to do where it does not
	@$(BIN)/python -m grading.cli doctor

workers: $(RUN_READY)  ## list the GPUs: state, running grades, faults
	@$(BIN)/python -m grading.cli workers

key: $(RUN_READY)  ## make an API key for PROJECT (scopes read and submit)
	@$(BIN)/python -m grading.cli keys make "$(PROJECT)"

purge: $(RUN_READY)  ## remove what ended more than OLDER_THAN ago
	@$(BIN)/python -m grading.cli purge --older-than "$(OLDER_THAN)"

test: lint  ## lint, then the whole suite against a real Postgres and a real Redis
	@$(BIN)/python -m tests.services
	$(BIN)/python -m pytest -n $(JOBS) --no-loadscope-reorder $(PYTEST_ARGS)

chaos: $(DEV_READY)  ## kill, freeze and cut off every part at full length (half an hour), and keep the figures
	CHAOS=full CHAOS_RECORD=benchmarks/results/chaos.json $(BIN)/python -m pytest tests/chaos $(PYTEST_ARGS)

lint: $(DEV_READY)  ## ruff, mypy and the import contracts
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(DEV_READY)  ## let ruff sort imports and format
	$(BIN)/ruff check --fix --select I $(CODE)
	$(BIN)/ruff format $(CODE)

env:  ## write .env for docker compose, with random secrets; an existing one stays
	@$(PYTHON) docker/make_env.py

venv: $(DEV_READY)  ## create or refresh the virtual environment, with the development tools

lock: $(DEV_READY)  ## write the installed versions to requirements/
	$(BIN)/python requirements/lock.py

clean:  ## remove caches and build products; data and environment stay
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## clean, and remove the environment and the embedded database (.data) too
	rm -rf $(VENV) .data

$(BIN)/python:
	@$(PYTHON) requirements/check_python.py
	$(PYTHON) -m venv $(VENV)

$(RUN_READY): pyproject.toml $(LOCK) | $(BIN)/python
	@echo "Installing into $(VENV); the first time takes a few minutes ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(LOCK) --editable .
	@touch $@

$(DEV_READY): pyproject.toml client/pyproject.toml $(LOCK) $(TRAIN_LOCK) | $(BIN)/python
	@echo "Installing into $(VENV); the first time takes a few minutes ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(LOCK) --constraint $(TRAIN_LOCK) \
		--editable '.[dev,train]' --editable client
	@touch $(RUN_READY) $@
