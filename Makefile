# `make demo` and `make test` need only Python 3.11+, pip and make; they set up everything in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

RESIGHT_DATA ?= ../shared/data
READY = src/resight/vocabulary/ready

.PHONY: demo test check docs benchmark vocabulary clean

demo: $(VENV)/.installed
	$(BIN)/python -m resight.demo demo

test: check
	$(BIN)/python -m pytest

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

# Installed anew only when pyproject.toml has changed.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo,dev,heif,report]'
	touch $@

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache
