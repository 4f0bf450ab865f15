# `make demo`, `make quick` and `make test` need only Python 3.11+, pip and make; they set up everything in $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# Where it is set, every process that a test starts compiles all modules it imports: twice the processor time.
unexport PYTHONDONTWRITEBYTECODE

RESIGHT_DATA ?= ../shared/data
READY = src/resight/vocabulary/ready

.PHONY: demo quick quick-tests test ready modules all-kernels kernels check docs benchmark vocabulary clean

demo: $(VENV)/.demo
	$(BIN)/python -m resight.demo demo

# What a change is tried with now and then: a minute instead of several. Types are checked beside the tests.
quick: kernels
	$(MAKE) --jobs 2 check quick-tests

quick-tests: $(VENV)/.installed
	$(BIN)/python -m pytest -m "not slow"

test: ready
	$(BIN)/python -m pytest

# Types are checked while others compile: the modules that all tests import; the kernels of a search, and those that
# only some tests need. Each process of pytest would compile them for itself. What fails here is pytest's to say.
ready: $(VENV)/.installed
	$(MAKE) --jobs 3 --output-sync check modules all-kernels

modules: $(VENV)/.installed
	$(BIN)/python -m pytest -n 0 --collect-only -W ignore >/dev/null || true

all-kernels: kernels
	$(BIN)/python -m tests.kernels || true

kernels: $(VENV)/.installed
	$(BIN)/python -c "from resight.warm import warm; warm()"

check: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: $(VENV)/.installed
	$(BIN)/python docs/generate.py

benchmark: $(VENV)/.installed
	for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

# The vocabularies that ship with resight, and their codebooks: trained on pictures that no evaluation uses.
vocabulary: $(VENV)/.installed
	$(BIN)/resight train $(RESIGHT_DATA)/distractors --out $(READY)/sift/vocabulary.npz \
		--set features.detector=sift --set features.contrast=0.02 --set features.max_features=2000
	$(BIN)/resight train $(RESIGHT_DATA)/distractors --out $(READY)/hessian-affine/vocabulary.npz \
		--set features.detector=hessian-affine --set features.contrast=0.02 \
		--set features.max_features=2000
	$(BIN)/python tools/make_codebooks.py $(RESIGHT_DATA)/distractors

# Installed anew only when pyproject.toml has changed. The demo needs far less than the tests do. Of what is installed,
# Python compiles the modules that are imported; pip would compile all, which takes longer.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(INSTALL) '.[demo]'
	touch $@

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(INSTALL) '.[demo,dev,heif,report]'
	touch $(VENV)/.demo $@

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache
