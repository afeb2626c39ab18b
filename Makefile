# Two commands do everything: `make demo` and `make test`. Both need Python and make, nothing else.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV ?= .venv
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/scenetest-otel
BIN := $(VENV)/bin
READY := $(VENV)/.ready

export UV_CACHE_DIR := $(CACHE)/uv
# Torch takes twice as long to import where its compiled files are not kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint types tests unit fuzz test-torch-matrix coverage chromium jaeger jaeger-stop reference docs pictures constraints clean
help: ## Show this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

$(READY): pyproject.toml constraints.txt tools/setup_env.py $(wildcard examples/device_backend/src/demo_device/*.py)
	$(PYTHON) tools/setup_env.py --venv $(VENV) --cache $(CACHE)
	touch $@

demo: $(READY) ## Record one run with torch's backend autoload on and one with it off, and show both.
	$(BIN)/python examples/demo.py

test: lint types tests ## Run all checks of CI.

lint: $(READY) ## Check the style and the import contracts.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# Numpy's stubs for Python 3.12 and later can't be read as Python 3.10, which pyproject.toml asks for.
AS_ITSELF := import sys; print("--pythonversion=3.%d" % sys.version_info[1] if sys.version_info >= (3, 12) else "")

types: $(READY) ## Check the types with pyright, strict.
	$(BIN)/pyright $$($(BIN)/python -c '$(AS_ITSELF)')

tests: $(READY) chromium ## Run all tests, on real parts.
	$(BIN)/pytest -n 2 --dist loadfile

unit: $(READY) ## Run the tests of pure functions, in less than a minute.
	$(BIN)/pytest tests/unit

fuzz: $(READY) ## Read 100,000 damaged journals, in five minutes. FUZZ_SEED=N changes the damage.
	FUZZ_TRIES=100000 $(BIN)/pytest -s tests/unit/rundir/test_fuzz.py

test-torch-matrix: $(READY) ## Test autoload on seven releases of torch. The first time needs 30 GB and half an hour.
	TORCH_RELEASES=all $(BIN)/pytest tests/process/test_torch_releases.py

coverage: $(READY) ## Measure the test coverage, including child processes.
	COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml $(BIN)/coverage run -m pytest $(TESTS)
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report --skip-covered

bench: $(READY) ## Measure the cost of the instrumentation, the stock SDK and neither, in some minutes.
	$(BIN)/python benchmarks/bench.py --json benchmarks/results.json --page docs/reference/benchmarks.md

reference: $(READY) ## Write the tables of the reference pages from the code.
	$(BIN)/python tools/render_docs.py

chromium: ## Install a browser for the tests of the report, if possible.
	@command -v chromium >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "make test needs chromium: install it" >&2; exit 1; }; \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium; \
	}

jaeger: ## Start Jaeger and a collector without containers, and print their addresses. Builds them on first use. METRICS=1 adds Prometheus.
	$(PYTHON) tools/stack.py start $(if $(METRICS),jaeger collector prometheus)

jaeger-stop: ## Stop Jaeger and the collector.
	$(PYTHON) tools/stack.py stop

docs: $(READY) ## Build the documentation as a site, in site/.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(READY) chromium ## Make the pictures of the documentation from real runs. JAEGER_UI= and PERFETTO_UI= name their built pages.
	$(BIN)/python tools/pictures.py $(if $(JAEGER_UI),--jaeger-ui "$(JAEGER_UI)") $(if $(PERFETTO_UI),--perfetto-ui "$(PERFETTO_UI)")

constraints: $(READY) ## Update the pinned versions in constraints.txt.
	$(PYTHON) tools/setup_env.py --venv $(VENV) --cache $(CACHE) --upgrade

clean: ## Remove the environment in the clone, but not the cache outside it.
	rm -rf $(VENV) site .pytest_cache .ruff_cache .import_linter_cache .coverage*
