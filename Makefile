# Each command installs what it needs first. `make help` lists the commands.
PYTHON_BIN := .venv/bin
PYTEST_ARGS ?=
LAB_REPEATS ?= 1
LAB_BESIDE ?=
LAB_CALM_S ?= 3600
SECONDS ?= 60
COVERAGE_DATA := $(CURDIR)/build/cache/coverage/data

.DEFAULT_GOAL := help
.PHONY: help demo check-fast test test-all test-rest test-fast test-properties test-packaging test-locust test-engines coverage mutants lab lab-short lab-calm \
	lint types pyright contracts bench bench-load bench-engines bench-watch bench-large bench-recordings bench-cockpit bench-endurance experiments \
	deb docs screenshots monkey fuzz catalog messages prose format clean setup servers engines jmeter

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## start a server and load it, in the cockpit
	@$(PYTHON_BIN)/loadtop demo

check-fast: setup ## before each commit: lint, types, unit and cockpit tests; 1 minute
	@$(MAKE) --no-print-directory --jobs lint types contracts test-fast

test: check-fast servers ## the same and tests with real servers, 5 minutes (PYTEST_ARGS="-k word")
	@scripts/test.sh servers quiet alone $(PYTEST_ARGS)

test-all: test test-rest ## the same and most other checks of CI, 25 minutes

test-rest: pyright test-properties test-packaging test-locust lab-short test-engines fuzz

test-fast: setup
	@scripts/test.sh fast $(PYTEST_ARGS)

test-properties: setup ## properties with all their generated examples
	@scripts/test.sh properties $(PYTEST_ARGS)

test-packaging: setup ## tests of the wheel
	@$(PYTHON_BIN)/python -m pytest tests/packaging $(PYTEST_ARGS)

test-locust: setup servers engines ## tests that need Locust
	@scripts/test.sh locust $(PYTEST_ARGS)

lab-short: setup servers engines ## the short scenarios of the lab; needs root on Linux
	@$(PYTHON_BIN)/python -m pytest tests/lab $(PYTEST_ARGS)

lab: setup servers engines ## drive real servers into known limits (LAB_REPEATS=3, LAB_BESIDE=noise or servers); needs root on Linux
	@LOADTOP_LAB_REPEATS=$(LAB_REPEATS) LOADTOP_LAB_BESIDE=$(LAB_BESIDE) $(PYTHON_BIN)/python -m pytest -m lab tests/lab $(PYTEST_ARGS)

lab-calm: setup servers ## five servers at moderate load for LAB_CALM_S seconds in total (3600): no limit may be named; needs root on Linux
	@LOADTOP_LAB_CALM_S=$(LAB_CALM_S) LOADTOP_LAB_BESIDE=$(LAB_BESIDE) $(PYTHON_BIN)/python -m pytest -m lab tests/lab/test_calm.py $(PYTEST_ARGS)

jmeter: setup servers engines
	@scripts/install-servers.sh jmeter jmeter-http maven unzip
	@scripts/jmeter.sh

test-engines: jmeter ## tests that need JMeter, which Maven downloads
	@scripts/test.sh engines $(PYTEST_ARGS)

coverage: setup servers ## branch coverage of all processes, by the unit tests and half of those with servers; fails below 90 %
	@rm -rf $(dir $(COVERAGE_DATA)) && install -d -m 1777 $(dir $(COVERAGE_DATA))
	@COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml COVERAGE_FILE=$(COVERAGE_DATA) scripts/test.sh fast covered $(PYTEST_ARGS) || \
		echo "coverage: tests failed, which tracing can cause; make test decides"
	@$(PYTHON_BIN)/coverage combine --quiet --data-file=$(COVERAGE_DATA)
	@$(PYTHON_BIN)/coverage json --quiet --data-file=$(COVERAGE_DATA) -o build/coverage.json
	@$(PYTHON_BIN)/python -m scripts.branches build/coverage.json

mutants: setup ## introduce small bugs into rates, diagnosis and parsers, and count those that unit tests find (ONLY=histogram)
	@$(PYTHON_BIN)/python -m scripts.mutants $(ONLY)

lint: setup ## ruff: rules and format
	@$(PYTHON_BIN)/ruff check .
	@$(PYTHON_BIN)/ruff format --check .

types: setup ## mypy, strict
	@$(PYTHON_BIN)/mypy

pyright: setup ## pyright, strict: a minute
	@PATH="$(CURDIR)/$(PYTHON_BIN):$$PATH" $(PYTHON_BIN)/pyright

contracts: setup ## import-linter: which package may import which
	@$(PYTHON_BIN)/lint-imports

bench-load: setup servers ## the generator compared with ab, wrk and others
	@$(PYTHON_BIN)/python -m benchmarks.load
	@$(PYTHON_BIN)/python -m benchmarks.load_proofs

bench: setup servers ## all benchmarks of speed and cost
	@for file in $$(grep -l '^if __name__ ==' benchmarks/*.py); do \
		echo "== $$file"; $(PYTHON_BIN)/python -m benchmarks.$$(basename $$file .py) || exit 1; \
	done

bench-engines: setup servers engines ## the load of one machine with each engine (run scripts/jmeter.sh before)
	@$(PYTHON_BIN)/python -m benchmarks.engines

bench-watch: setup servers ## the cost of watching, local and remote, compared with sar, top and glances
	@$(PYTHON_BIN)/python -m benchmarks.watch

bench-large: setup servers ## the cost of watching 256 cores and 5,000 processes, local and remote
	@$(PYTHON_BIN)/python -m benchmarks.large_machine

bench-recordings: setup servers ## the cost of recordings compared with sar and atop (ARGS="--hours 24 --hosts 5")
	@$(PYTHON_BIN)/python -m benchmarks.recordings $(ARGS)

experiments: setup servers ## the five field reports of docs/experiments (14 minutes); one needs root on Linux
	@for plan in docs/experiments/*.toml; do \
		$(PYTHON_BIN)/loadtop experiment --headless --out build/experiments/$$(basename $$plan .toml) $$plan || exit 1; \
	done
	@docs/experiments/beside_ab.sh

bench-cockpit: setup servers ## the cost of the cockpit compared with htop, top, btop and glances, if installed
	@$(PYTHON_BIN)/python -m benchmarks.cockpit

bench-endurance: setup ## memory over six hours of generated frames (ARGS="--hours 1", "--real 3600")
	@$(PYTHON_BIN)/python -m benchmarks.endurance $(ARGS)

fuzz: setup ## generated inputs for every parser of external data, SECONDS (60) in total
	@$(PYTHON_BIN)/python -m tests.fuzz.run --seconds $(SECONDS)

monkey: setup ## 10,000 random keys, clicks and sizes in the cockpit (LOADTOP_MONKEY_SEED=n for others)
	@LOADTOP_MONKEY=10000 $(PYTHON_BIN)/python -m pytest tests/tui/test_monkey.py

docs: setup ## build the documentation as a site with a search, in build/site
	@scripts/docs.sh

screenshots: setup servers ## screenshots of the cockpit from real runs, 5 minutes; those of swap need root on Linux
	@$(PYTHON_BIN)/python -m screenshots.make

catalog: setup ## update the translations (.po) and docs/messages.md from the texts in the code
	@$(PYTHON_BIN)/python -m scripts.catalog

messages: setup ## regenerate docs/messages.md: help, messages and errors, for review
	@$(PYTHON_BIN)/python -m scripts.messages

prose: setup ## check spelling and the English of documents, help and messages
	@$(PYTHON_BIN)/codespell
	@$(PYTHON_BIN)/python -m scripts.prose

format: setup ## format the code
	@$(PYTHON_BIN)/ruff check --fix-only --quiet .
	@$(PYTHON_BIN)/ruff format .

deb: ## build the Debian package in build/deb; needs dpkg-dev, debhelper, python3-venv and python3-pip
	@scripts/deb.sh

clean: ## remove everything that make created, .venv included
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@scripts/setup.sh

servers:
	@scripts/install-servers.sh

engines: setup
	@scripts/engines.sh
