# `make demo`, `make quick` and `make test` need only Python 3.11+, pip and make; they set up everything in $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

RESIGHT_DATA ?= ../shared/data
READY = src/resight/vocabulary/ready

.PHONY: demo quick test ready check kernels docs benchmark vocabulary clean

demo: $(VENV)/.demo
	$(BIN)/python -m resight.demo demo

# What a change is tried with now and then: a minute instead of several.
quick: ready
	$(BIN)/python -m pytest -m "not slow"

test: ready
	$(BIN)/python -m pytest

# Types are checked while kernels are compiled, each by one processor.
ready: $(VENV)/.installed
	$(MAKE) --jobs 2 --output-sync check kernels

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
		--set features.detector=sift --set features.contrast=0.02
	$(BIN)/resight train $(RESIGHT_DATA)/distractors --out $(READY)/hessian-affine/vocabulary.npz \
		--set features.detector=hessian-affine --set features.contrast=0.02
	$(BIN)/python tools/make_codebooks.py $(RESIGHT_DATA)/distractors

# Installed anew only when pyproject.toml has changed. The demo needs far less than the tests do.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[demo]'
	touch $@

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[demo,dev,heif,report]'
	touch $(VENV)/.demo $@

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache
