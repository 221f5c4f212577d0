# loadtop: every verb makes what it needs first. `make help` lists them.
PYTHON_BIN := .venv/bin
PYTEST_ARGS ?=
LAB_REPEATS ?= 1
LAB_CALM_S ?= 3600
SECONDS ?= 60
COVERAGE_DATA := $(CURDIR)/build/cache/coverage/data

.DEFAULT_GOAL := help
.PHONY: help demo check-fast test test-all test-rest test-fast test-properties test-packaging test-locust test-engines coverage mutants lab lab-short lab-calm \
	lint types pyright contracts bench bench-load bench-engines bench-watch bench-large bench-recordings bench-cockpit bench-endurance experiments \
	deb docs screenshots monkey fuzz catalog messages prose format clean setup servers engines

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## a server and a load of its own, in the cockpit
	@$(PYTHON_BIN)/loadtop demo

check-fast: setup ## before each commit: lint, types, unit tests, the cockpit
	@$(MAKE) --no-print-directory --jobs lint types contracts test-fast

test: check-fast servers ## the same, and everything against real servers (PYTEST_ARGS="-k word")
	@scripts/test.sh servers quiet alone $(PYTEST_ARGS)

test-all: test test-rest ## the same, and all parts of test-rest

test-rest: pyright test-properties test-packaging test-locust lab-short test-engines fuzz

test-fast: setup
	@scripts/test.sh fast $(PYTEST_ARGS)

test-properties: setup ## properties with all their made-up examples
	@scripts/test.sh properties $(PYTEST_ARGS)

test-packaging: setup ## the wheel, and what the docs say
	@$(PYTHON_BIN)/python -m pytest tests/packaging $(PYTEST_ARGS)

test-locust: setup servers engines ## the tests that need Locust
	@scripts/test.sh locust $(PYTEST_ARGS)

lab-short: setup servers engines ## the shorter scenarios of the lab; needs root on Linux
	@$(PYTHON_BIN)/python -m pytest tests/lab $(PYTEST_ARGS)

lab: setup servers engines ## real servers driven into known limits (LAB_REPEATS=3: each so often); needs root on Linux
	@LOADTOP_LAB_REPEATS=$(LAB_REPEATS) $(PYTHON_BIN)/python -m pytest -m lab tests/lab $(PYTEST_ARGS)

lab-calm: setup servers ## four calm servers for LAB_CALM_S seconds in sum (3600): nothing may be found full; root on Linux
	@LOADTOP_LAB_CALM_S=$(LAB_CALM_S) $(PYTHON_BIN)/python -m pytest -m lab tests/lab/test_calm.py $(PYTEST_ARGS)

test-engines: setup servers engines ## the tests that need JMeter, which Maven fetches
	@scripts/install-servers.sh jmeter jmeter-http maven unzip
	@scripts/jmeter.sh
	@$(PYTHON_BIN)/python -m pytest -m engines tests/engines $(PYTEST_ARGS)

coverage: setup servers engines ## the branches that all tests but those marked `quiet` or `alone` run, in all processes; fails below 90 %
	@rm -rf $(dir $(COVERAGE_DATA)) && install -d -m 1777 $(dir $(COVERAGE_DATA))
	@COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml COVERAGE_FILE=$(COVERAGE_DATA) scripts/test.sh fast servers locust $(PYTEST_ARGS) || \
		echo "coverage: tests failed, as some may where lines are traced; what counts is make test"
	@$(PYTHON_BIN)/coverage combine --quiet --data-file=$(COVERAGE_DATA)
	@$(PYTHON_BIN)/coverage json --quiet --data-file=$(COVERAGE_DATA) -o build/coverage.json
	@$(PYTHON_BIN)/python -m scripts.branches build/coverage.json

mutants: setup ## small mistakes in rates, diagnosis, parsers: how many the unit tests find (ONLY=histogram)
	@$(PYTHON_BIN)/python -m scripts.mutants $(ONLY)

lint: setup ## ruff: rules and format
	@$(PYTHON_BIN)/ruff check .
	@$(PYTHON_BIN)/ruff format --check .

types: setup ## mypy, strict
	@$(PYTHON_BIN)/mypy

pyright: setup ## pyright, strict: a minute
	@PATH="$(CURDIR)/$(PYTHON_BIN):$$PATH" $(PYTHON_BIN)/pyright

contracts: setup ## import-linter: who may import whom
	@$(PYTHON_BIN)/lint-imports

bench-load: setup servers ## the generator beside ab, wrk and others
	@$(PYTHON_BIN)/python -m benchmarks.load
	@$(PYTHON_BIN)/python -m benchmarks.load_proofs

bench: setup servers ## what measures speed and cost
	@for file in $$(grep -l '^if __name__ ==' benchmarks/*.py); do \
		echo "== $$file"; $(PYTHON_BIN)/python -m benchmarks.$$(basename $$file .py) || exit 1; \
	done

bench-engines: setup servers engines ## what one machine generates with each engine (JMeter: scripts/jmeter.sh before)
	@$(PYTHON_BIN)/python -m benchmarks.engines

bench-watch: setup servers ## what watching costs, there and here, beside sar, top and glances
	@$(PYTHON_BIN)/python -m benchmarks.watch

bench-large: setup servers ## what a machine of 256 cores and 5,000 processes costs, near and far
	@$(PYTHON_BIN)/python -m benchmarks.large_machine

bench-recordings: setup servers ## what recordings cost, beside those of sar and atop (ARGS="--hours 24 --hosts 5")
	@$(PYTHON_BIN)/python -m benchmarks.recordings $(ARGS)

experiments: setup servers ## the five field reports of docs/experiments, measured here; one needs root on Linux
	@for plan in docs/experiments/*.toml; do \
		$(PYTHON_BIN)/loadtop experiment --headless --out build/experiments/$$(basename $$plan .toml) $$plan || exit 1; \
	done
	@docs/experiments/beside_ab.sh

bench-cockpit: setup servers ## what the cockpit costs, beside htop, top, btop and glances where they are installed
	@$(PYTHON_BIN)/python -m benchmarks.cockpit

bench-endurance: setup ## whether memory stays flat in six hours of made-up frames (ARGS="--hours 1", "--real 3600")
	@$(PYTHON_BIN)/python -m benchmarks.endurance $(ARGS)

fuzz: setup ## made-up inputs to every parser of data from outside, for SECONDS (60) in all
	@$(PYTHON_BIN)/python -m tests.fuzz.run --seconds $(SECONDS)

monkey: setup ## 10 000 random keys, clicks and sizes in the cockpit (LOADTOP_MONKEY_SEED=n for others)
	@LOADTOP_MONKEY=10000 $(PYTHON_BIN)/python -m pytest tests/tui/test_monkey.py

docs: setup ## a site of the documentation, with a search, in build/site
	@scripts/docs.sh

screenshots: setup servers ## pictures of the cockpit from real runs, in 5 minutes; those of swap need root on Linux
	@$(PYTHON_BIN)/python -m screenshots.make

catalog: setup ## update the translations (.po) and docs/messages.md from the texts in the code
	@$(PYTHON_BIN)/python -m scripts.catalog

messages: setup ## regenerate docs/messages.md: help, messages and errors, for review
	@$(PYTHON_BIN)/python -m scripts.messages

prose: setup ## spelling, and the English of documents, help and messages
	@$(PYTHON_BIN)/codespell
	@$(PYTHON_BIN)/python -m scripts.prose

format: setup ## put the code into the common form
	@$(PYTHON_BIN)/ruff check --fix-only --quiet .
	@$(PYTHON_BIN)/ruff format .

deb: ## build the Debian package in build/deb; needs dpkg-dev, debhelper, python3-venv and python3-pip
	@scripts/deb.sh

clean: ## remove what was made, the environment too
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@scripts/setup.sh

servers:
	@scripts/install-servers.sh

engines: setup
	@scripts/engines.sh
