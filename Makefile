# The commands of this project. `make lab` and `make test` need only Python 3.11 or newer and make. They install
# the rest into .venv and (for tests, as root on Debian) by apt-get.

PYTHON ?= python3
BIN := .venv/bin

# What `make test` runs; `make test TESTS=tests/files` runs a part. WORKERS processes share the tests, each file
# in one of them; tests that measure time run last, when nothing else runs. `make test-long` runs also what is
# marked `long`, and makes many examples where `make test` makes few.
TESTS ?= $(if $(HOUSE),$(call from_house,$(HOUSE)),tests)
WORKERS ?= 2

# `make test HOUSE=engine` runs a house of workbench/README.md, and those that rest on it.
HOUSES := format engine directory brokers data faces
format := layout kernels record file_system files decoders
engine := log log_manager cleaner engine engine_jvm cleaner_jvm behaviors
directory := inspection startup field golden campaign
brokers := coordinator coordinator_jvm replication replication_clusters comparison brokers
data := tables values loaders server spark pipelines
faces := cli widgets browser e2e notebooks peers house
from_house = $(addprefix tests/,$(foreach each,$(shell echo $(HOUSES) | sed 's/.*\b$(1)\b/$(1)/'),$($(each))))
define run_tests
@$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder \
  -m "not alone $(1)" --durations=20 $(2) $(TESTS)
@grep -rl --include='test_*.py' 'mark\.alone' $(TESTS) | xargs -r $(BIN)/python -m pytest -m "alone $(1)" $(2)
endef

# What `make test-quick` runs: the parts that need no other program, below two minutes on two cores.
QUICK := $(addprefix tests/,coordinator decoders file_system files house layout loaders log log_manager record widgets)

# How much later `make test-later` runs.
LATER ?= +10y
# librdkafka waits for ever where the date is another; this document has it as a client.
WITH_LIBRDKAFKA = tests/test_docs.py::test_the_code_of_a_document_runs_and_prints_what_is_shown[how-to.md]
# The file system stamps files with the machine's date, and these ask which were written lately.
BY_STAMPS = tests/inspection/test_live_directory.py::test_a_reader_of_a_growing_log_never_sees_damage \
  tests/widgets/test_following_tabs.py::test_records_begin_with_the_newest_and_one_switch_follows_for_all

# How long `make campaign` runs.
MINUTES ?= 10

# Packages of another Python environment must not be visible in this one.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

# Hundreds of processes import the workbench: each would compile all of it, and pytest every test.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help lab test test-long test-quick test-later coverage campaign test-spark-versions check fix bench notebooks docs screenshots pictures map messages env lock upgrade system jar wheel clean

help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' Makefile

lab: env ## open JupyterLab on the tour over sample_data
	@$(BIN)/kafka-workbench lab

test: env system jar ## run the tests: units, real brokers, browser, notebooks, Spark
	$(call run_tests,and not long)

test-long: export HYPOTHESIS_PROFILE = long
test-long: env system jar ## run every test, with many examples: for a night, or before a release
	$(call run_tests,,--timeout=1800)

test-quick: env ## run what a contributor runs at every change, below two minutes
	@$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile -q \
	  -m "not (alone or broker or browser or long or notebook or slow or spark)" $(QUICK)

test-later: env system ## run the tests that need no other program as if it were ten years later: [LATER=+1y]
	@PYTHONPATH=$(CURDIR)/.ci/later faketime --exclude-monotonic -f $(LATER) \
	  $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder -q \
	  -m "not (alone or broker or browser or librdkafka or long or notebook or spark)" $(foreach each,$(WITH_LIBRDKAFKA) $(BY_STAMPS),--deselect "$(each)") $(TESTS)

coverage: env system ## run the tests and print how much of each file it ran; twice as slow
	@mkdir -p build/coverage && rm -f build/coverage/data*
	@PYTEST_ADDOPTS="--cov --cov-append --cov-report=" $(MAKE) --no-print-directory test
	@$(BIN)/coverage report

campaign: env system jar ## damage directories at random and try every call on them: MINUTES=10 [SEED=1]
	@$(BIN)/python -m tests.campaign.campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

test-spark-versions: env system jar ## run the tests of the Spark source on the oldest and newest Spark
	@$(BIN)/python .ci/spark_versions.py

check: env ## check format, lint, types, layers and English; changes nothing
	@$(BIN)/ruff format --check --quiet || { echo "some files are not formatted: make fix"; exit 1; }
	@$(BIN)/deno fmt --check --quiet || { echo "some front ends are not formatted: make fix"; exit 1; }
	@$(BIN)/ruff check
	@$(BIN)/deno lint --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest -q tests/house/test_english.py

fix: env map ## format, fix what ruff can fix safely, and draw the layers
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format
	@$(BIN)/deno fmt --quiet

bench: env system jar ## measure beside memcpy, Kafka's code, Spark and clients, into docs/measured: [BENCH="decode"]
	@$(BIN)/python -m tests.benchmarks $(BENCH)

notebooks: env ## execute every notebook and write it, with its output, to build/notebooks
	@$(BIN)/jupyter-nbconvert --execute --to html --output-dir build/notebooks --log-level WARN notebooks/*.ipynb

docs: env ## write the documentation site, with the reference of all Python names, to build/docs
	@PYTHONPATH=. NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@$(BIN)/python -m pdoc --docformat google --output-directory build/docs/reference \
	  $$(find workbench widgets -name '*.py' ! -name '_[!_]*' | sed 's|/__init__.py||; s|\.py$$||; s|/|.|g' | sort)
	@echo "build/docs/index.html"

screenshots: env system ## write every widget as pictures, in two themes and three widths, to build/screenshots
	@$(BIN)/python -m tests.browser.screenshots

pictures: env system ## write the pictures of README and of docs
	@$(BIN)/python -m tests.browser.screenshots documents

map: ## write the drawing of the layers, from the docstrings and contracts
	@$(PYTHON) .ci/drawing.py

messages: env ## write the classes of requests and responses, from Kafka's JSON files
	@PYTHONPATH=. $(BIN)/python .ci/message_classes.py
	@$(BIN)/ruff format --quiet workbench/server/protocol/requests.py workbench/server/protocol/responses.py \
	  workbench/decoders/records.py

env: ## make or renew the virtual environment .venv from requirements.lock, bundle the front ends, compile the kernels
	@$(PYTHON) .ci/environment.py

lock: ## write requirements.lock from pyproject.toml, keeping the pins that still fit
	@$(PYTHON) .ci/lock.py

upgrade: ## write requirements.lock with the newest versions that pyproject.toml allows
	@$(PYTHON) .ci/lock.py --upgrade

system: ## install what tests need besides Python: Chromium, a JDK, Maven, node, a C++ compiler, kcat, zsh, faketime
	@$(PYTHON) .ci/system_packages.py

jar: env system ## compile the reader in Java that Spark loads, for tests and the wheel
	@$(BIN)/python .ci/jar.py

wheel: jar ## build the wheel, and check it in fresh environments of every Python here: [EXTRAS="core pandas"]
	@$(PYTHON) .ci/wheel.py $(EXTRAS)

clean: ## remove everything that make created, including the environment
	rm -rf .venv build .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf *.egg-info workbench/spark_source/jvm/*.jar widgets/bundles workbench/kernels/library/kernels.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
