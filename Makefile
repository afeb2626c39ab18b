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
help: ## This list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

$(READY): pyproject.toml constraints.txt tools/setup_env.py $(wildcard examples/device_backend/src/demo_device/*.py)
	$(PYTHON) tools/setup_env.py --venv $(VENV) --cache $(CACHE)
	touch $@

demo: $(READY) ## One run with torch's backend autoload on and one with it off, both shown.
	$(BIN)/python examples/demo.py

test: lint types tests ## Everything that CI checks.

lint: $(READY) ## Style and the import contracts.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# Numpy's stubs for Python 3.12 and later can't be read as Python 3.10, which pyproject.toml asks for.
AS_ITSELF := import sys; print("--pythonversion=3.%d" % sys.version_info[1] if sys.version_info >= (3, 12) else "")

types: $(READY) ## pyright, strict.
	$(BIN)/pyright $$($(BIN)/python -c '$(AS_ITSELF)')

tests: $(READY) chromium ## All tests, on real parts.
	$(BIN)/pytest -n 2 --dist loadfile

unit: $(READY) ## The tests of pure functions, in less than a minute.
	$(BIN)/pytest tests/unit

fuzz: $(READY) ## 100,000 damaged journals, each with another damage: five minutes. FUZZ_SEED=N damages them otherwise.
	FUZZ_TRIES=100000 $(BIN)/pytest -s tests/unit/rundir/test_fuzz.py

test-torch-matrix: $(READY) ## What autoload can do, on seven releases of torch: 30 GB and half an hour the first time.
	TORCH_RELEASES=all $(BIN)/pytest tests/process/test_torch_releases.py

coverage: $(READY) ## Which lines the tests reach, in the processes that they start, too.
	COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml $(BIN)/coverage run -m pytest $(TESTS)
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report --skip-covered

bench: $(READY) ## What the instrumentation costs, beside the stock SDK and beside none: some minutes.
	$(BIN)/python benchmarks/bench.py --json benchmarks/results.json --page docs/reference/benchmarks.md

reference: $(READY) ## The tables of the reference pages, written anew from the code.
	$(BIN)/python tools/render_docs.py

chromium: ## A browser for the tests of the report, installed where that can be done.
	@command -v chromium >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "make test needs chromium: install it" >&2; exit 1; }; \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium; \
	}

jaeger: ## Jaeger and a collector without containers; prints their addresses. Built on first use. METRICS=1 adds Prometheus.
	$(PYTHON) tools/stack.py start $(if $(METRICS),jaeger collector prometheus)

jaeger-stop: ## End them.
	$(PYTHON) tools/stack.py stop

docs: $(READY) ## The documentation as a site, in site/.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(READY) chromium ## The pictures of the documentation, from real runs. JAEGER_UI=, PERFETTO_UI=: their built pages.
	$(BIN)/python tools/pictures.py $(if $(JAEGER_UI),--jaeger-ui "$(JAEGER_UI)") $(if $(PERFETTO_UI),--perfetto-ui "$(PERFETTO_UI)")

constraints: $(READY) ## Move the pinned versions in constraints.txt to the newest that fit.
	$(PYTHON) tools/setup_env.py --venv $(VENV) --cache $(CACHE) --upgrade

clean: ## Remove the environment in the clone; the cache outside it stays.
	rm -rf $(VENV) site .pytest_cache .ruff_cache .import_linter_cache .coverage*
