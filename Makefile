# Needs Python 3.11 or newer, git and make. Everything else is installed into .venv from requirements.lock.
PYTHON ?=
EXPERIMENT ?= demos/deliberation.yaml
EXTRAS ?=
ARGS ?=

ROOMS := shared formats web services/gateway services/orchestrator services/agent-worker services/prompt-builder cli
BIN := .venv/bin
COMPILE = UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url $(ARGS)
# Folders that mypy reads in runs of their own: their files carry the same names as those of another folder.
TEST_FOLDERS = $(wildcard $(ROOMS:%=%/tests))
ALONE = $(wildcard tests) $(wildcard benchmarks)

# The test that calls a real model needs the address of one that is compatible with OpenAI's; any key will do there.
WITHOUT_MODEL = $(if $(PARLEY_TEST_MODEL_URL),, and not real_model)

# The test that installs the wheel as a user does takes its dependencies from a package index.
WITHOUT_NETWORK = $(if $(PARLEY_TEST_NETWORK),, and not network)

# Tests render the manifests as kubectl does; where there is one, they are compared.
WITHOUT_KUBECTL = $(if $(shell command -v kubectl),, and not kubectl)

# Some machines keep no compiled modules: every process of a test, and there are hundreds, would compile all of them anew.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

# The services of the commit before the newest migration are in the history of the repository, if anywhere.
# Looked for once, and only by those who ask.
NO_COMMIT_BEFORE = $(eval NO_COMMIT_BEFORE := $$(shell $(BIN)/python -m tests.operators.commit_before))$(NO_COMMIT_BEFORE)
WITHOUT_HISTORY = $(if $(NO_COMMIT_BEFORE), and not history)

.DEFAULT_GOAL := help
.PHONY: help setup run test pages check vendor unit machine faults mutants fuzz bench migrate lock crewai crewai-tests
.DELETE_ON_ERROR:

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup: .venv/.installed ## Make .venv and install everything (only what has changed)

run: setup ## Run EXPERIMENT (demos/deliberation.yaml) in the embedded lab; ARGS="--port 8001" takes another port
	@$(BIN)/parley up --experiment "$(EXPERIMENT)" $(ARGS)

test: setup .venv/.pages-installed ## Run every test; EXTRAS=crewai runs those of CrewAI too, in .venv-crewai
ifneq (,$(shell command -v npm))
	-@$(MAKE) --no-print-directory web/node_modules/.installed
endif
	$(PYTEST) -n auto --dist worksteal -m "not crewai and not docker and not grid and not long$(WITHOUT_MODEL)$(WITHOUT_NETWORK)$(WITHOUT_KUBECTL)" $(ARGS)
ifneq (,$(findstring crewai,$(EXTRAS)))
	@$(MAKE) --no-print-directory crewai-tests
else
	@echo
	@echo "SKIPPED: the tests of CrewAI. 'make test EXTRAS=crewai' makes .venv-crewai and runs them."
endif
ifeq (,$(findstring docker,$(ARGS)))
	@echo "LEFT OUT: the tests of the containers, which need a Docker engine. 'make test ARGS=\"-m docker\"' runs them."
endif
	@echo "LEFT OUT: the tests marked long and grid. 'make faults' and 'make pages' run them."
ifneq (,$(WITHOUT_NETWORK))
	@echo "LEFT OUT: the test of an installed wheel, which needs a package index. 'make test PARLEY_TEST_NETWORK=1' runs it."
endif
ifneq (,$(WITHOUT_KUBECTL))
	@echo "LEFT OUT: the comparison of the rendered Kubernetes manifests with those of kubectl, because there is none."
endif
ifneq (,$(WITHOUT_MODEL))
	@echo "LEFT OUT: the test with a real model. 'make test PARLEY_TEST_MODEL_URL=http://127.0.0.1:11434/v1' runs it."
endif

pages: setup .venv/.pages-installed ## Run the tests in the browser that `make test` leaves out: other kinds, widths, languages, networks
ifneq (,$(shell command -v npm))
	-@$(MAKE) --no-print-directory web/node_modules/.installed
endif
	$(PYTEST) -n auto --dist worksteal -m grid tests/pages $(ARGS)

check: setup .venv/.pages-installed .venv/.fuzz-installed ## Lint, format, types, import contracts, words and sentences
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy conftest.py docs/check_words.py docs/check_sentences.py $(ROOMS:%=%/src)
	@set -e; for folder in $(TEST_FOLDERS) $(ALONE); do echo "mypy $$folder"; $(BIN)/mypy $$folder; done
	$(BIN)/lint-imports
	$(BIN)/python docs/check_words.py
	$(BIN)/python -m docs.check_sentences
ifneq (,$(shell command -v npm))
	@$(MAKE) --no-print-directory web/node_modules/.installed
	cd web && npm run --silent check
	@$(MAKE) --no-print-directory web/vendor/node_modules/.installed
	@folder=$$(mktemp -d) && cd web/vendor && node build.mjs $$folder && for file in $$folder/*; do \
		cmp $$file ../src/parley_lab/web/pages/console/vendor/$$(basename $$file) || exit 1; done && rm -r $$folder
else
	@echo "LEFT OUT: the types of the pages and of the client for TypeScript, because there is no npm. Node.js 20 or newer has it."
endif

# TypeScript, which checks the types of the pages; they are served as they are.
web/node_modules/.installed: web/package-lock.json
	@cd web && npm ci --silent --no-audit --no-fund
	@touch $@

# What the libraries that pages load are bundled of, and with.
web/vendor/node_modules/.installed: web/vendor/package-lock.json
	@cd web/vendor && npm ci --silent --no-audit --no-fund
	@touch $@

vendor: web/vendor/node_modules/.installed ## Bundle the libraries of the pages anew; the output is committed
	cd web/vendor && node build.mjs

unit: setup ## Run the tests that need neither PostgreSQL nor RabbitMQ
	$(PYTEST) -m "not services and not crewai and not docker and not network and not real_model" $(ARGS)

machine: setup ## Search longer for rows of commands that leave members stuck: PARLEY_MACHINE_EXAMPLES=200 by default
	PARLEY_MACHINE_EXAMPLES=$${PARLEY_MACHINE_EXAMPLES:-200} $(BIN)/python -m pytest -n 0 tests/flows/test_lives_machine.py $(ARGS)

faults: setup ## Run the long tests, then strike a lab with faults; with ARGS="--seed 1 --messages 10000 --faults 200" only that
ifeq (,$(ARGS))
	PARLEY_TEST_PROFILE=long $(PYTEST) -n auto --dist worksteal -m "(long or hypothesis) and not crewai and not grid$(WITHOUT_HISTORY)"
	@$(if $(NO_COMMIT_BEFORE),echo "LEFT OUT: the services of the commit before the newest migration: $(NO_COMMIT_BEFORE).")
endif
	$(BIN)/python -m tests.storms $(ARGS)

mutants: setup ## Make small changes to rules of the lab, and name those that no test notices: ARGS="seat lease" chooses some
	$(BIN)/python -m tests.mutants $(ARGS)

fuzz: setup .venv/.fuzz-installed ## Send made-up requests to every address of the API: ARGS="--requests 20000 --seed 1" by default
	$(BIN)/python -m tests.fuzzing $(ARGS)

bench: setup ## Compare the speed of chat replies with a hand-written pipeline, measure surveys, discussions and workbooks
	$(BIN)/python benchmarks/chat_pipeline.py $(ARGS)
	$(BIN)/python benchmarks/survey_calls.py
	$(BIN)/python benchmarks/group_discussion.py
	$(BIN)/python benchmarks/people_typing.py
	$(BIN)/python benchmarks/beside_a_big_run.py
	$(BIN)/python benchmarks/workbook_run.py
	$(BIN)/python benchmarks/workbook_memory.py

migrate: setup ## Bring the database at PARLEY_DATABASE_URL to the newest schema
	$(BIN)/python -m parley_lab.store.migrate

crewai: .venv-crewai/.installed ## Install CrewAI beside everything else in .venv-crewai (1 GB): .venv-crewai/bin/parley has it

lock: setup ## Write the lock files anew; ARGS=--upgrade takes newer versions
	$(COMPILE) pyproject.toml --group dev --output-file requirements.lock
	$(COMPILE) pyproject.toml --group dev --extra crewai --output-file requirements-crewai.lock
	$(COMPILE) --group pages --constraint requirements.lock --output-file requirements-pages.lock
	$(COMPILE) --group fuzz --constraint requirements.lock --output-file requirements-fuzz.lock

# Certificates that a network adds to the system count for uv as they do for pip.
export UV_SYSTEM_CERTS ?= 1

# Installs the lock file $(2) and the lab into the environment $(1). uv comes first, cut out of the lock with its
# hashes; pip takes over where uv cannot download, since pip knows mirrors and proxies from settings of its own.
define install
	@$(1)/bin/python -c 'import re, sys; print(re.search("^uv==.*?(?=^[a-z]|\\Z)", sys.stdin.read(), re.M | re.S)[0])' \
		< $(2) > $(1)/uv.lock
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(1)/uv.lock
	@$(1)/bin/uv pip install --quiet --compile-bytecode --python $(1)/bin/python --require-hashes --requirement $(2) \
		|| { echo "uv could not install $(2); trying pip ..." \
		&& $(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(2); }
	@$(1)/bin/uv pip install --quiet --python $(1)/bin/python --no-deps --no-build-isolation --editable .
	@touch $(1)/.installed
endef

.venv/.installed: requirements.lock pyproject.toml | .venv/bin/python
	@echo "Installing into .venv ..."
	$(call install,.venv,requirements.lock)

# The driver of the browser that the pages are tested with, and what makes up requests.
.venv/.pages-installed .venv/.fuzz-installed: .venv/.%-installed: requirements-%.lock .venv/.installed
	@$(BIN)/uv pip install --quiet --require-hashes --python $(BIN)/python --requirement $<
	@touch $@

.venv-crewai/.installed: requirements-crewai.lock pyproject.toml | .venv-crewai/bin/python
	@echo "Installing into .venv-crewai (about 1 GB) ..."
	$(call install,.venv-crewai,requirements-crewai.lock)

# The first of the candidates that runs, is of a version that the embedded PostgreSQL has wheels for, and can make environments.
CANDIDATES = $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python)
USABLE = import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))

.venv/bin/python .venv-crewai/bin/python:
	@for candidate in $(CANDIDATES); do \
		if $$candidate -c '$(USABLE)' >/dev/null 2>&1; then exec $$candidate -m venv $(@:%/bin/python=%); fi; \
	done; \
	echo "Parley needs Python 3.11, 3.12, 3.13 or 3.14 with its module venv; none of these is one: $(CANDIDATES)." \
		"Install one (on Debian: python3 and python3-venv) or name yours: make setup PYTHON=/path/to/python3" >&2; \
	exit 1

# Telemetry of CrewAI is off: tests reach no network.
crewai-tests: setup .venv-crewai/.installed
	CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true .venv-crewai/bin/python -m pytest -m crewai $(ARGS)
ifneq (,$(wildcard services/agent-worker/tests/test_openai_model.py))
	.venv-crewai/bin/python -m pytest -m "not crewai" services/agent-worker/tests/test_openai_model.py $(ARGS)
endif
