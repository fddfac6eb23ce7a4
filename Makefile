# The two main commands: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
CLUSTER ?= embedded
KAFKA ?= 4.4.0
RESULTS ?= results

FENCEPOST := .venv/bin/fencepost
READY := .venv/.ready
DOCS_READY := .venv/.ready-docs
DEMO := tests/live/test_demo.py
PYTEST := .venv/bin/pytest --numprocesses 2 --durations 10
IF_SHORT := $(if $(LONG),, and not long)
SEED_OPTION := $(if $(SEED),--seed $(SEED))
# Quotes a text as one word of the shell.
quoted = '$(subst ','\'',$(1))'

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-live lint format docs bench lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Set up .venv; then .venv/bin/fencepost has all commands

demo: $(READY) ## Which leader epoch is safe to commit? A real cluster, Spark, and a report
	$(FENCEPOST) run commit_epoch --cluster $(CLUSTER) --kafka $(KAFKA) --results $(call quoted,$(RESULTS)) $(SEED_OPTION)

bench: $(READY) ## What a cluster and its clients cost beside Kafka's own programs (ten minutes); keeps the figures of docs/benchmarks.md
	.venv/bin/python -m lab.cluster

docs: $(DOCS_READY) ## The site of the docs, with all that is made from code and figures: build/site/html/index.html
	.venv/bin/python -m website $(if $(REPOSITORY),--repository $(call quoted,$(REPOSITORY)))

check: $(READY) ## Ruff and the unit tests that concern the changed files (a minute): [BASE=HEAD]
	.venv/bin/python -m lab.check $(call quoted,$(or $(BASE),HEAD))

test: $(READY) ## Unit tests, the judge on small tables, and the demo (five minutes): [LONG=1]
	$(PYTEST) -m 'not extended$(IF_SHORT)' tests/unit $(DEMO)

test-live: $(READY) ## All other live clusters (Docker's where it runs), Spark's tasks and URIs: [LONG=1]
	$(PYTEST) -m 'extended$(IF_SHORT)' tests/unit
	$(PYTEST) $(if $(LONG),-m 'long or not long') tests/live --ignore $(DEMO)

lint: $(READY) ## Style and types
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	@# Its workers end while they hold a lock of tqdm, of which Python warns.
	PYTHONWARNINGS=ignore::UserWarning:multiprocessing.resource_tracker .venv/bin/python -m analysis.linting lint --processes 2 --disable-progress-bar analysis/checks analysis/facts analysis/trends $(wildcard extras/*/*.sql)

format: $(READY) ## Fix what ruff can fix, and make harness/faults/__init__.py
	.venv/bin/python -m lab.faults
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

lock: $(READY) ## Update requirements.lock and website/requirements.lock
	.venv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--override overrides.txt --group dev --no-emit-index-url --no-header \
		pyproject.toml --output-file requirements.lock
	.venv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--constraint requirements.lock --group docs --no-emit-index-url --no-header \
		--output-file website/requirements.lock

clean: ## Remove leftovers of killed runs, and caches of tools (keeps results and .venv)
	@if [ -x $(FENCEPOST) ]; then $(FENCEPOST) clean --results $(call quoted,$(RESULTS)); fi
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

# Pip warns of how pyspark is packed, and setuptools of folders named like an editable package.
$(READY): export PYTHONWARNINGS = ignore:DEPRECATION,ignore:Editable
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) cluster/prerequisites.py
	@echo "setting up .venv: packages of 400 MB, a minute or two"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@.venv/bin/python -m analysis.prepare
	@touch $(READY)

$(DOCS_READY): $(READY) website/requirements.lock
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r website/requirements.lock
	@touch $(DOCS_READY)
