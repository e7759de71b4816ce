# The front door. Every target works on a fresh Debian or Ubuntu machine: set-up is part of it.
# `make` alone lists what there is.

SHELL := /bin/bash
export LC_ALL := C.UTF-8
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
BUILD := build/release
PATH := $(PATH):/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH

.DEFAULT_GOAL := help
.PHONY: help setup configure build demo test wheel python-folder test-python asan tsan fuzz install bench gpu-bundle gpu-check format format-check tidy clean

help: ## list the targets
	@echo 'Basalt: columnar files and SQL on compressed data. Start with `make demo`.'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  Variables: JOBS=$(JOBS)  PREFIX=$(PREFIX)  CMAKE_ARGS= (extra configuration, for example -DBASALT_CUDA=OFF)'

setup: ## install missing packages and fetch pinned third-party files
	@scripts/setup.sh

# Quiet when it works; the whole log when it does not.
configure: setup
	@mkdir -p build
	@cmake --preset release $(CMAKE_ARGS) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }

build: configure ## build everything; the program lands at build/release/basalt
	@cmake --build $(BUILD) --parallel $(JOBS)

# Only what it shows is built: the program, and the GPU library where there is a GPU.
demo: configure ## generate TPC-H, convert, inspect and query it; ends with sizes and times
	@targets=basalt_cli; \
	if nvidia-smi -L >/dev/null 2>&1 && ninja -C $(BUILD) -t query basalt_cuda >/dev/null 2>&1; then targets="$$targets basalt_cuda"; fi; \
	cmake --build $(BUILD) --parallel $(JOBS) --target $$targets
	@scripts/demo.sh

test: build ## build, then run every test, the quick ones of the Python package too
	@scripts/run_tests.sh $(BUILD) $(TEST_ARGS)
	@scripts/test_python.sh

wheel: build ## build the Python package: dist/pybasalt-*.whl
	@scripts/wheel.sh

python-folder: build ## build the Python package without a wheel, into build/python (add it to PYTHONPATH)
	@scripts/python_folder.sh

test-python: wheel ## the Python package's tests, with Polars, PyTorch and Ray (large downloads)
	@scripts/test_python.sh --large

asan: setup ## build with Address- and UndefinedBehaviorSanitizer, then run the tests
	@JOBS=$(JOBS) scripts/build_sanitized.sh
	@scripts/run_tests.sh build/asan $(TEST_ARGS)

# What several threads do together; the rest of the tests has nothing for it to find.
TSAN_TESTS := basalt_core_tests basalt_exec_tests basalt_file_tests
tsan: setup ## build with ThreadSanitizer, then run the tests of what several threads do at once
	@cmake --preset tsan >/dev/null
	@cmake --build build/tsan --parallel $(JOBS) --target $(TSAN_TESTS)
	@for tests in $(TSAN_TESTS); do \
		TSAN_OPTIONS=halt_on_error=1 build/tsan/tests/$$tests --gtest_brief=1 --gtest_filter='*Concurrency*:*Thread*:*Cancel*:Scan.*:*PartsOfChunks*:Reading.Parts:Buffer.*:Writing.*-*Killed*:*Full*:*Long*' || exit 1; \
	done

fuzz: setup ## run every libFuzzer target for FUZZ_SECONDS (default 60) each
	@scripts/fuzz.sh

install: build ## install into PREFIX
	@cmake --install $(BUILD) --prefix '$(PREFIX)' >/dev/null && echo 'installed into $(PREFIX)'

bench: setup ## build and run the benchmarks; JSON in build/bench-results
	@scripts/bench.sh

gpu-bundle: setup ## pack what a GPU machine without network needs into .deps/bundle
	@scripts/gpu_bundle.sh

gpu-check: ## on a GPU machine: build, test, sanitize, benchmark (STAGES="build test" for single stages)
	@scripts/gpu_check.sh $(STAGES)

format: ## rewrite our sources with clang-format
	@scripts/format.sh

format-check:
	@scripts/format.sh --check

tidy: configure ## run clang-tidy over our sources
	@scripts/tidy.sh

clean: ## remove the build trees (fetched files stay in .deps)
	@rm -rf build
