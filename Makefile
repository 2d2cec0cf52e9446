# One venv for everything; `make train` needs nothing but Python 3.11 and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
PY := $(VENV)/bin/python
ARGS ?=
# Two workers; the tests of a file stay together, and share what they made.
PYTEST := $(PY) -m pytest -q -n 2 --dist loadfile

# What domains run inside the sandbox (a C compiler, make, an interpreter), by Debian's names.
DEBIAN := gcc libc6-dev make gzip gawk findutils procps sqlite3

.PHONY: train test check inspect bench format system clean

train: $(VENV)/train.done system
	$(PY) -m polyathlon train $(ARGS)

test: $(VENV)/dev.done system
	$(PYTEST) -m "not docker and not gpu" $(ARGS)

check: $(VENV)/dev.done system
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PYTEST)

inspect: $(VENV)/train.done system
	$(PY) -m polyathlon check --stale $(ARGS)

bench: $(VENV)/dev.done system
	for name in registry environment sandbox snapshots trainer; do $(PY) benchmarks/$$name.py || exit 1; done

format: $(VENV)/dev.done
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

$(VENV)/train.done: pyproject.toml
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q "torch==2.13.0"
	$(PY) -m pip install -q -e ".[cad,train]"
	touch $@

$(VENV)/dev.done: $(VENV)/train.done
	$(PY) -m pip install -q -e ".[all,dev]"
	touch $@

system:
	@missing=""; for name in $(DEBIAN); do dpkg -s $$name >/dev/null 2>&1 || missing="$$missing $$name"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else echo "Missing here, wanted inside the sandbox:$$missing. Install them with your package manager."; fi

clean:
	rm -rf $(VENV) dist build
