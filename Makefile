# The menu: `make` alone prints it. Two environments: `make demo` and `make test` make their own in .venv, with an installed package;
# `make dev` is the loop, it builds what changed into build/ and lets the active Python environment find it.
# One build at a time: the lock makes it safe to run from many terminals.
SHELL := /bin/bash
PYTHON ?= python3
BUILD ?= build
ENVIRONMENT ?= .venv
TORCH ?= torch==2.13.0+cpu
TORCH_INDEX ?=
export PYTHON TORCH TORCH_INDEX
export PATH := $(PATH):$(CURDIR)/$(ENVIRONMENT)/bin

WHEEL := build-wheel
IN := $(ENVIRONMENT)/bin
WORKERS ?= 2
PYTEST := BUILD=$(CURDIR)/$(WHEEL) $(IN)/pytest -n $(WORKERS)
SANITIZED := --buildtype=plain -Doptimization=1 -Dtorch=none -Db_lundef=false -Dc_args=-w

.PHONY: menu demo test check-all opinfo sweep xla libtpu ops environment test-environment c-tests dev configure check check-c asan ubsan tsan \
	portable portable-aarch64 portable-x86-64-v2 fuzz chains chains-asan bench peers fmt lint clean

menu:
	@echo "make demo        .venv, install, train a small GPT on \"tpu\" and let it write (TORCH=, TORCH_INDEX=, PYTHON=)"
	@echo "make test        .venv, install, pass the tests"
	@echo "make check-all   the same with the long sweeps, and against XLA:CPU"
	@echo "make opinfo      every op against PyTorch's own samples (part of check-all)"
	@echo "make ops         docs/generated/ops.md: OpInfo on the engine, the same on XLA:CPU, its programs through libtpu (hours;"
	@echo "                 parts: make sweep | xla | libtpu; SAMPLE=how many ops x dtypes, JOBS=; goes on where it stopped)"
	@echo
	@echo "make dev         build what changed into build/, for the active Python environment"
	@echo "make check       its tests; make check-c: those of the C half only"
	@echo "make asan | ubsan | tsan   the C half's tests under a sanitizer"
	@echo "make portable    the C half's tests for 64-bit ARM and for x86-64-v2, run by qemu (gcc-aarch64-linux-gnu, qemu-user-static)"
	@echo "make fuzz        mutated texts, and random programs by fast and reference kernels, for some minutes (FUZZ=how many)"
	@echo "make chains      random chains of views and writes against the CPU (N=how many, 100000); chains-asan: under AddressSanitizer"
	@echo "make bench       how fast we are against PyTorch, Inductor, XLA:CPU and the anchor (ROWS=regex, AGAINST=regex, QUICK=1); make peers installs those"
	@echo "make fmt | lint | clean"

# ---- from a fresh clone ----
environment:
	@BUILD=$(WHEEL) flock $(ENVIRONMENT).lock tools/environment.sh $(ENVIRONMENT)

demo: environment
	@$(IN)/python examples/train_gpt.py

EXTRAS := test
test-environment:
	@BUILD=$(WHEEL) flock $(ENVIRONMENT).lock tools/environment.sh $(ENVIRONMENT) $(EXTRAS)
	@flock $(WHEEL).lock $(IN)/ninja -C $(WHEEL) --quiet c_tests

test: test-environment
	@$(PYTEST)

check-all: EXTRAS := test,xla
check-all: test-environment
	@$(PYTEST) -m "slow or not slow"

opinfo: test-environment
	@$(PYTEST) -m "slow or not slow" tests/ops

# ---- the loop ----
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

# ---- sanitizers: no PyTorch, no bridge. A report ends the program that it is about. ----
asan: SANITIZER := address
ubsan: SANITIZER := undefined
tsan: SANITIZER := thread
asan ubsan tsan:
	@flock build-$@.lock tools/configure.sh build-$@ $(SANITIZED) -Db_sanitize=$(SANITIZER)
	@flock build-$@.lock ninja -C build-$@ --quiet
	@ASAN_OPTIONS=abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 \
		flock build-$@.lock meson test -C build-$@ --no-rebuild --print-errorlogs --timeout-multiplier 10

# ---- machines that are not here: no PyTorch, no bridge. tools/cross-*.ini say how they are compiled for and run. ----
portable: portable-aarch64 portable-x86-64-v2
portable-aarch64 portable-x86-64-v2: portable-%:
	@flock build-$*.lock tools/configure.sh build-$* --cross-file tools/cross-$*.ini -Dtorch=none
	@flock build-$*.lock ninja -C build-$* --quiet
	@flock build-$*.lock meson test -C build-$* --no-rebuild --print-errorlogs --timeout-multiplier 10

FUZZ ?= 300000
fuzz: configure
	@flock $(BUILD).lock ninja -C $(BUILD) --quiet c_tests
	TT_FUZZ=$(FUZZ) TT_SEED=$$RANDOM $(BUILD)/c_test_hlo_text
	TT_FUZZ=$(FUZZ) TT_SEED=$$RANDOM $(BUILD)/c_test_engine_programs fast_equals_reference
	TT_FUZZ=$(FUZZ) TT_SEED=$$RANDOM $(BUILD)/c_test_engine_loops fused_graphs
	TT_FUZZ=$$(($(FUZZ) / 50)) TT_SEED=$$RANDOM $(BUILD)/c_test_engine_fast
	TT_FUZZ=$$(($(FUZZ) / 50)) TT_SEED=$$RANDOM $(BUILD)/c_test_engine_kernels products_of_every_shape dot_general_in_any_order convolutions_of_every_kind
	TT_FUZZ=$$(($(FUZZ) / 1000)) TT_SEED=$$RANDOM $(BUILD)/c_test_engine_ops elementwise composites

N ?= 100000
chains: dev
	OMP_NUM_THREADS=1 $(PYTHON) tests/torch/test_view_chains.py $(N)

# The same under AddressSanitizer: its core and engine below the ordinary bridge, in a package of their own. A nightly run: slow.
ASAN := build-asan
ASAN_PRELOAD = $(shell $${CC:-cc} -print-file-name=libasan.so) $(shell $${CC:-cc} -print-file-name=libstdc++.so.6)
chains-asan: dev
	@flock $(ASAN).lock tools/configure.sh $(ASAN) $(SANITIZED) -Db_sanitize=address
	@flock $(ASAN).lock ninja -C $(ASAN) --quiet libtorch_tpu_core.so pjrt_cpu.so
	@mkdir -p $(ASAN)/package/torch_tpu/lib && cp torch_tpu/*.py $(ASAN)/package/torch_tpu/
	@cp $(ASAN)/libtorch_tpu_core.so $(ASAN)/pjrt_cpu.so $(BUILD)/bridge-*.so $(ASAN)/package/torch_tpu/lib/
	OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/$(ASAN)/package LD_PRELOAD="$(ASAN_PRELOAD)" \
		ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 $(PYTHON) tests/torch/test_view_chains.py $(N)

# Without the peers in .bench (or in TORCH_TPU_PEERS) their columns stay empty. The page is written after all rows, or with PAGE=1.
peers:
	bench/peers.sh

bench: dev
	-@bench/peers.sh
	$(PYTHON) bench/run.py $(if $(QUICK),--quick) $(if $(PAGE),--page) $(if $(ROWS),--rows '$(value ROWS)') $(if $(AGAINST),--against '$(value AGAINST)') $(if $(THREADS),--threads $(THREADS))

# ---- sweeps: remove build/sweep to begin again ----
SWEEP := $(BUILD)/sweep
SAMPLE ?= 0
JOBS ?= 2
RUN_SWEEP := TORCH_TPU_CPU_FALLBACK=error $(PYTHON) tests/ops/sweep.py
sweep: dev
	$(RUN_SWEEP) $(SWEEP)/engine --save --programs --sample $(SAMPLE) --jobs $(JOBS)

xla: sweep
	TORCH_TPU_PLUGIN=lammps_jax_pjrt_cpu $(RUN_SWEEP) $(SWEEP)/xla --against $(SWEEP)/engine --group 20 --sample $(SAMPLE) --jobs $(JOBS)

libtpu: sweep
	$(PYTHON) tools/libtpu_sweep.py $(SWEEP)/engine/programs $(SWEEP)/libtpu.jsonl --jobs $(JOBS)

ops: xla libtpu
	TORCH_TPU_CPU_FALLBACK=silent $(PYTHON) tests/ops/sweep.py $(SWEEP)/allowed --unsupported-in $(SWEEP)/engine/results.jsonl
	$(PYTHON) tools/gen_ops.py $(SWEEP)/engine/results.jsonl --xla $(SWEEP)/xla/results.jsonl --libtpu $(SWEEP)/libtpu.jsonl \
		--allowed $(SWEEP)/allowed/results.jsonl

fmt:
	clang-format -i $$(git ls-files 'src/*.c' 'src/*.h' 'src/*.cpp' 'tests/*.c')
	ruff format torch_tpu tools tests

lint:
	ruff check torch_tpu tools tests bench

clean:
	rm -rf build build-asan build-ubsan build-tsan build-aarch64 build-x86-64-v2 build-wheel build*.lock $(ENVIRONMENT) $(ENVIRONMENT).lock
