# The verbs of this project. `make lab` and `make test` need Python 3.11 or newer and make, nothing else:
# the rest is installed, into .venv and (for tests, as root on Debian) by apt-get.

PYTHON ?= python3
BIN := .venv/bin

# What `make test` runs; `make test TESTS=tests/files` runs a part. So many processes share the tests, each
# file in one of them; what measures time comes last, when nothing else runs.
TESTS ?= tests
WORKERS ?= 2

# A Python of another environment must not lend its packages to this one.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

.DEFAULT_GOAL := help
.PHONY: help lab test coverage test-spark-versions check fix bench notebooks docs env lock upgrade system clean

help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' Makefile

lab: env ## open JupyterLab on the tour over sample_data
	@$(BIN)/kafka-workbench lab

test: env system ## run every test: units, real brokers, browser, notebooks, Spark
	@$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder \
	  -m "not alone" --durations=20 $(TESTS)
	@$(BIN)/python -m pytest -m alone $(TESTS) || [ $$? -eq 5 ]

coverage: env system ## run every test and print how much of each file it ran; twice as slow
	@mkdir -p build/coverage && rm -f build/coverage/data*
	@PYTEST_ADDOPTS="--cov --cov-append --cov-report=" $(MAKE) --no-print-directory test
	@$(BIN)/coverage report

test-spark-versions: env system ## run the tests of the Spark source on the oldest and newest Spark
	@$(BIN)/python .ci/spark_versions.py

check: env ## check format, lint, types and layers; changes nothing
	@$(BIN)/ruff format --check --quiet || { echo "some files are not formatted: make fix"; exit 1; }
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

fix: env ## format, and mend what ruff can mend safely
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

bench: env system ## measure against memcpy, the JVM, DumpLogSegments, aiokafka and kafka-python
	@for file in tests/benchmarks/bench_*.py; do \
	  $(BIN)/python -m tests.benchmarks.$$(basename $$file .py) || exit 1; \
	done

notebooks: env ## execute every notebook and write it, with what it shows, to build/notebooks
	@$(BIN)/jupyter-nbconvert --execute --to html --output-dir build/notebooks --log-level WARN notebooks/*.ipynb

docs: env ## write the reference of the Python names to build/docs
	@$(BIN)/python -m pdoc --docformat google --output-directory build/docs \
	  $$(find workbench widgets -name '*.py' ! -name '_[!_]*' | sed 's|/__init__.py||; s|\.py$$||; s|/|.|g' | sort)
	@echo "build/docs/index.html"

env: ## make or renew the virtual environment .venv from requirements.lock
	@$(PYTHON) .ci/environment.py

lock: ## write requirements.lock from pyproject.toml, keeping the pins that still fit
	@$(PYTHON) .ci/lock.py

upgrade: ## write requirements.lock with the newest versions that pyproject.toml allows
	@$(PYTHON) .ci/lock.py --upgrade

system: ## install what tests need beside Python: Chromium, a JDK, Maven, node
	@$(PYTHON) .ci/system_packages.py

clean: ## remove what make made, the environment too
	rm -rf .venv build .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
