# The menu. `make dev` is the loop: it builds what changed into build/ and lets the Python environment find it.
# One build at a time: the lock makes it safe to run from many terminals.
SHELL := /bin/bash
PYTHON ?= python
BUILD ?= build
ENVIRONMENT ?= .venv
TORCH ?= torch==2.13.*
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

.PHONY: dev configure check check-c test fmt lint clean

dev: configure
	@flock $(BUILD).lock ninja -C $(BUILD) -k 0 --quiet
	@$(PYTHON) tools/dev_install.py

# Reconfigures when a source file was added or removed, or never configured.
configure:
	@flock $(BUILD).lock tools/configure.sh $(BUILD)

check-c: dev
	@flock $(BUILD).lock meson test -C $(BUILD) --no-rebuild --print-errorlogs

check: dev
	$(PYTHON) -m pytest

fmt:
	clang-format -i $$(git ls-files 'src/*.c' 'src/*.h' 'src/*.cpp' 'tests/*.c')
	ruff format torch_tpu tools tests

lint:
	ruff check torch_tpu tools tests

clean:
	rm -rf build build-asan build-ubsan build-tsan build*.lock
