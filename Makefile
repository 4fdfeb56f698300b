# The commands of the house. Each first installs the Debian packages that are missing (scripts/setup.sh).
#   make demo | test | build | bench | peers | reference | cuda-check | fuzz | campaign | format | check | install PREFIX=/usr/local | clean
#   make test-on debian13 (debian12; CXX=clang++-19): all of it on another system
#   PRESET=release (debug, asan, tsan, cuda, ci)    JOBS=number of processors

PRESET ?= release
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD := build/$(PRESET)

.DEFAULT_GOAL := build
SYSTEMS := debian12 debian13
.PHONY: setup setup-tests configure build test test-on $(SYSTEMS) demo bench peers reference cuda-check fuzz campaign format check install clean

setup:
	@scripts/setup.sh build

configure: setup
	@log=$$(mktemp); cmake --preset $(PRESET) > $$log 2>&1 || { cat $$log; rm -f $$log; exit 1; }; \
	sed -n '/^STOKER_CUDA/p; /^-- Stoker/,/^-- $$/p' $$log; rm -f $$log

build: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS)

setup-tests: setup
	@scripts/setup.sh mpi

test: setup-tests build
	@ctest --preset $(PRESET) --parallel 2

# The systems are words behind test-on, not goals of their own.
test-on:
	@scripts/test_on.sh $(or $(filter $(SYSTEMS),$(MAKECMDGOALS)),none)
$(SYSTEMS):
	@:

demo: setup
	@scripts/demo.sh $(PRESET) $(JOBS)

bench: setup
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target benches
	@scripts/bench.sh $(BUILD)

# The GPU engine compiled and linked, for one GPU, where there need not be one; then that it says why it cannot run, and
# that a project outside can find and link what was installed.
# CUDA_BUILD: a build tree of preset ci, all of which but the engine's own files is then used again.
CUDA_BUILD ?= build/cuda-check
cuda-check: setup
	@mkdir -p build
	@cmake --preset ci -B $(CUDA_BUILD) -DSTOKER_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real \
	  > build/cuda-check.log 2>&1 || { cat build/cuda-check.log; exit 1; }
	@cmake --build $(CUDA_BUILD) --parallel $(JOBS) --target bench_gpu test_engine test_extend stoker_app
	@$(CUDA_BUILD)/bin/test_engine --gtest_brief=1 --gtest_filter='BackendLookup.*:Fuser*:CodeCache.*'
	@$(CUDA_BUILD)/bin/test_extend --gtest_brief=1
	@$(CUDA_BUILD)/bin/bench_gpu --check || [ $$? = 77 ]
	@cmake -DSTOKER_BUILD=$(CUDA_BUILD) -DWORK=$(abspath $(CUDA_BUILD))/consumer -DGENERATOR=Ninja -DCOMPILER=$(or $(CXX),c++) \
	  -DCONFIG=Release -P tests/install/run.cmake > build/cuda-consumer.log 2>&1 || { cat build/cuda-consumer.log; exit 1; }
	@echo "a project outside finds, links and runs the installed GPU build"

# The same work in Keras, tf.data, PyTorch, libtorch and Grain. QUICK=1: some minutes instead of half an hour.
# PEERS: options of bench/peers/peers.py, for example PEERS="--only b,d --mnist DIR --photos DIR".
peers: setup
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target bench_peers
	@scripts/peers-setup.sh
	@bench/peers/peers.py --build $(BUILD) $(if $(QUICK),--quick) $(PEERS)

# Every parser against libFuzzer. FUZZ_SECONDS=60 each; FUZZ_ONLY="idx gzip".
fuzz: setup
	@scripts/setup.sh fuzz
	@JOBS=$(JOBS) scripts/fuzz.sh

# Random kills with resume and every fuzzer, ten minutes each; totals accumulate in bench/results/campaign.json.
# CAMPAIGN: options of scripts/campaign.py, for example CAMPAIGN="--seconds 60 --only kills,idx".
campaign: setup
	@scripts/setup.sh fuzz
	@$(MAKE) --no-print-directory configure
	@scripts/campaign.py --build $(BUILD) $(CAMPAIGN)

# docs/reference again, from the headers and the option tables.
reference: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target reference

format:
	@scripts/setup.sh format
	@scripts/sources.sh | xargs clang-format -i

check: setup
	@scripts/setup.sh format
	@$(MAKE) --no-print-directory configure PRESET=debug
	@scripts/check_includes.py
	@scripts/check_format.sh || [ $$? = 77 ]
	@scripts/check_tidy.sh build/debug || [ $$? = 77 ]

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@rm -rf $(BUILD)
