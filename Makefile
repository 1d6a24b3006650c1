# Needs make and Python 3.11 or newer; everything else is set up in .venv.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
.DEFAULT_GOAL := help
.PHONY: help setup test lint type fuzz bench demo e2e releases mutation wheels clean

help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with the tool and all that tests and lint need

$(STAMP): pyproject.toml tests/tools/setup.sh tests/tools/python.sh
	sh tests/tools/setup.sh $(VENV)
	touch $@

test: $(STAMP) ## Run the tests on every affected release of jax, with branch coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist loadfile $(PYTEST)
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

lint: $(STAMP) type ## Check style, format, types and workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --no-progress -q .
	sh tests/tools/actionlint.sh .github/workflows/*.yml

type: $(STAMP) ## Check types only
	$(BIN)/mypy

fuzz: $(STAMP) ## Bend archives, images and pin files for a long time; FUZZ=N examples of each
	CODEMOD_FUZZ=$(or $(FUZZ),5000) $(BIN)/python -m pytest -q tests/test_audit_hostile.py

bench: $(STAMP) ## Measure start-up and compare with peers, as ratios in one run
	$(BIN)/python tests/tools/bench.py

demo: ## Show the bug on a real jax, fix it, and show two processes initialize
	@python=$$(sh tests/tools/python.sh) && exec "$$python" tests/tools/demo.py

e2e: $(STAMP) ## Initialize for real on one release of every family; E2E=--fresh repeats what is proved
	$(BIN)/python -m tests.e2e.run $(E2E)

releases: $(STAMP) ## Make patches/releases.toml again from the package index
	$(BIN)/python tests/tools/releases_table.py

mutation: $(STAMP) ## Change the code that decides and edits, and see that a test notices; resumes
	$(BIN)/python -m pip install -q --disable-pip-version-check --group mutation
	nice -n 15 $(BIN)/python -m tests.mutation.run

wheels: $(STAMP) ## Make patched wheels: make wheels VERSIONS="0.4.35 0.8.0"
	$(BIN)/codemod wheel $(addprefix jax==,$(VERSIONS)) -o dist

clean: ## Remove everything that was made here
	rm -rf $(VENV) .cache build dist .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
