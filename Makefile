# Everything runs in a virtual environment that the first target makes.
# `make receipt` takes the claim of config/config.yaml to results/receipt.json.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
# cuda13 or cuda12 where a driver answers, else host: what this machine can run.
EXTRA ?= $(shell $(PYTHON) workflow/scripts/choose_extra.py)

.PHONY: receipt judge test mutants seeds check clean

# The receipt is the product whatever it says: only an invalid one is an error here.
receipt: $(VENV)/.$(EXTRA)
	$(BIN)/snakemake --workflow-profile workflow/profiles/default --cores all --quiet host reason rules -- results/receipt.json
	@$(BIN)/fivegates verify results/receipt.json || test $$? -ne 2

judge: $(VENV)/.$(EXTRA)
	$(BIN)/snakemake --workflow-profile workflow/profiles/default --cores all --quiet host reason rules -- judge

test: $(VENV)/.$(EXTRA) $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadgroup

# Every single fault in tests/mutants/, and which gate refuses it; some minutes.
mutants: $(VENV)/.$(EXTRA) $(VENV)/.dev
	$(BIN)/python tests/mutation.py

# Every correct arm under twenty seeds of its cases, on the host; longer.
seeds: $(VENV)/.$(EXTRA) $(VENV)/.dev
	$(BIN)/python tests/seeds.py

check: $(VENV)/.dev
	PATH="$(abspath $(BIN)):$$PATH" .ci/check

$(VENV)/.%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

clean:
	rm -rf results logs scratch .snakemake
