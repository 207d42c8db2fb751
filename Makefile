# Two commands on a fresh machine with Python 3.10+, git and make:
#   make demo    the main job on a real Airflow, in a few minutes
#   make test    every test ring
# All that is made lives in .build/. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

BUILD := .build
PYTHON ?= python3
VENV := $(BUILD)/venv
OLDEST_VENV := $(BUILD)/venv-oldest
UV := $(BUILD)/bootstrap/bin/uv
RUN := $(VENV)/bin/python
OLDEST_RUN := $(OLDEST_VENV)/bin/python
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=

# Trust what the machine trusts (mirrors behind a company's own authority), never fetch a Python, and build our own
# wheel with the pinned build tools.
export UV_SYSTEM_CERTS ?= 1
export UV_PYTHON_DOWNLOADS ?= never
export UV_BUILD_CONSTRAINT ?= constraints/dev.txt
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1
# Airflow's home of whatever is run from here; tests and the demo make their own below it.
export AIRFLOW_HOME := $(abspath $(BUILD))/airflow_home
# Someone's PYTHONPATH would shadow the pinned packages.
unexport PYTHONPATH

$(UV): constraints/dev.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 10) or sys.exit("Python 3.10 or newer is needed, this is %d.%d: make PYTHON=/path/to/python3" % v[:2])'
	$(PYTHON) -m venv $(BUILD)/bootstrap
	$(BUILD)/bootstrap/bin/python -m pip install --quiet --constraint constraints/dev.txt uv
	@touch $@

$(VENV)/.ready: $(UV) constraints/dev.txt pyproject.toml
	$(UV) venv --quiet --clear --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
	$(UV) pip install --quiet --compile-bytecode --python $(RUN) --constraint constraints/dev.txt \
	  --group dev --editable '.[openlineage,ion,parquet,docker]'
	@touch $@

$(OLDEST_VENV)/.ready: $(UV) constraints/oldest.txt pyproject.toml scripts/find_python.sh
	$(UV) venv --quiet --clear --python "$$(bash scripts/find_python.sh 3.10 $(PYTHON))" $(OLDEST_VENV)
	$(UV) pip install --quiet --compile-bytecode --python $(OLDEST_RUN) --constraint constraints/oldest.txt \
	  --group test --editable '.[openlineage,ion,parquet]'
	@touch $@

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.PHONY: env
env: $(VENV)/.ready ## make the environment that everything below runs in

.PHONY: demo serve
demo: $(VENV)/.ready ## run the main job on a real Airflow and print what happened
	$(RUN) -m scripts.demo $(DEMO_ARGS)
serve: $(VENV)/.ready ## the demo's Airflow, kept running; prints address and login
	$(RUN) -m scripts.demo --serve $(DEMO_ARGS)

# Two processes, each of them with whole groups of tests: tests/support/spread.py says which belong together.
SPREAD := -n 2 --dist loadscope
PYTEST := -m pytest --durations=20 --durations-min=5
RINGS := test-unit test-catalogue test-airflow test-faults test-ui
.PHONY: test $(RINGS) test-oldest
test: $(RINGS) ## every test ring
test-unit: $(VENV)/.ready ## no server, no Airflow process
	$(RUN) $(PYTEST) tests/unit -n 2 $(PYTEST_ARGS)
test-catalogue: $(VENV)/.ready ## the catalogue on SQLite, PostgreSQL and MariaDB
	$(RUN) $(PYTEST) tests/catalogue $(SPREAD) $(PYTEST_ARGS)
test-airflow: $(VENV)/.ready ## a real Airflow
	$(RUN) $(PYTEST) tests/airflow $(SPREAD) $(PYTEST_ARGS)
test-faults: $(VENV)/.ready ## a real Airflow whose parts are killed, paused, doubled
	$(RUN) $(PYTEST) tests/faults $(SPREAD) $(PYTEST_ARGS)
test-ui: ui-types ## the page of Airflow's UI in a real browser
	$(RUN) $(PYTEST) tests/ui $(PYTEST_ARGS)
test-oldest: $(OLDEST_VENV)/.ready ## the catalogue ring and a smoke test on the oldest supported Airflow
	@$(OLDEST_RUN) scripts/say_versions.py "oldest supported"
	$(OLDEST_RUN) $(PYTEST) tests/catalogue $(SPREAD) $(PYTEST_ARGS)
	$(OLDEST_RUN) $(PYTEST) tests/airflow -m smoke $(PYTEST_ARGS)

# Node.js is a Python package of the environment; npm installs what ui/package-lock.json says.
NPM := $(RUN) hatch_build.py npm
.PHONY: ui ui-types test-ui screenshots
ui: $(BUILD)/ui-node.ready ## build the page of Airflow's UI into the source tree
	$(RUN) hatch_build.py
ui-types: ui ## check the page's types, run its unit tests, build the stand-in for Airflow's page
	$(NPM) run types
	$(NPM) test
	$(NPM) run build:stub -- --logLevel warn
$(BUILD)/ui-node.ready: ui/package-lock.json $(VENV)/.ready
	$(NPM) ci
	@touch $@
screenshots: ui-types ## pictures of every page into docs/images/ui
	$(RUN) -m scripts.screenshots

.PHONY: lint format
lint: $(VENV)/.ready ## ruff, formatting, mypy, the direction of imports
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	PYTHONPATH=. $(VENV)/bin/lint-imports setup.cfg --no-cache
format: $(VENV)/.ready ## rewrite the code as lint wants it, where that is mechanical
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

.PHONY: bench
BENCHMARKS ?= record http query latency locks purge sensors shipping lineage assets imports
bench: $(VENV)/.ready ## the benchmarks against the peers (BENCHMARKS="query imports" chooses)
	for name in $(BENCHMARKS); do $(RUN) -m benchmarks.$$name $(BENCH_ARGS); done

.PHONY: docs-check
docs-check: $(VENV)/.ready ## links resolve, Python blocks compile
	$(RUN) -m scripts.docs_check

.PHONY: constraints
constraints: $(UV) ## resolve the constraints anew
	UV=$(UV) UV_BUILD_CONSTRAINT= $(PYTHON) scripts/make_constraints.py

.PHONY: clean
clean: ## remove all that was made
	rm -rf $(BUILD) dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(BUILD)/*' -type d -prune -exec rm -rf {} +
