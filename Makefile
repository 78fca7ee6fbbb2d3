# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# One thread per process: studies and trials run in parallel, and BLAS threads would fight over the cores.
export OMP_NUM_THREADS ?= 1

.PHONY: install demo test lint slow chaos docs clean

install: .venv/.installed

.venv/.installed: requirements.lock pyproject.toml
	@echo "Installing into .venv: about 7 GB, and some minutes in which pip says nothing."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

demo: install
	$(BIN)/orchestrate run smoke --name smoke-$$(date +%Y%m%d-%H%M%S)
	@echo "More: $(BIN)/orchestrate --help, or 'source $(BIN)/activate' once and then just 'orchestrate'."

test: install lint
	$(BIN)/python -m pytest

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

slow: install
	$(BIN)/python -m pytest -m slow --timeout 900

# Hundreds of faults, and the table they end in; `make slow` injects a few of each.
chaos: install
	CHAOS=long $(BIN)/python -m pytest tests/chaos -m slow --timeout 3600

docs: install
	$(BIN)/python -m mkdocs build --strict

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache
