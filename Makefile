# Two commands are all a newcomer needs: `make demo` and `make test`. Each gets what it needs first.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help help-all setup setup-test setup-dev build test llama-flags llama-versions fleet-test conformance jinja fuzz fuzz-api abuse sdk clients templates bench policies fleets \
  asan tsan web-test schema-bench schema-peer schema-suite crash models-test soak package package-test release service-test demo serve model check format lint lint-all ci nightly lock clean distclean

help: ## This list; make help-all has all targets and benchmarks
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

help-all:
	@awk -F ':.*#[\#:] ' '/^[a-z%-]+:.*#[#:] / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@python3 scripts/bench

setup: ## Tools and libraries the build needs; does nothing when they are there
	@scripts/setup.sh

setup-test:
	@scripts/setup.sh --test

setup-dev:
	@scripts/setup.sh --dev

build: setup-test ## The program build/cairn and the tests
	@scripts/build.sh

test: build ## All tests (ARGS="-L unit" passes ctest's arguments on)
	@scripts/test.sh $(ARGS)

# Tests that start more than ctest does, by scripts/test_NAME.sh; ARGS="…" passes arguments on. Of the
# package and the service KIND=system, KIND=tar and SUITE=sid name other packages.
test-%: ## More tests: vulkan, rpc (a model on two workers), web (a browser), package, service, setup
	@$(if $(filter web package service,$*),scripts/build.sh $(if $(filter web,$*),cairn) cairn-lab)
	@scripts/test_$*.sh $(ARGS)

test-vulkan test-web test-package test-service: setup
test-package test-service: package
web-test package-test service-test: %-test: test-%

fleet-test: bench-fleet #: Four servers behind HAProxy, one killed, one drained; as root in namespaces (SHORT=1, ARGS=…)

llama-flags: setup #: Compare the list of llama-server's flags with its --help (UPDATE=1: rewrite the list)
	@python3 scripts/bench llama-flags

llama-versions: #: The engine's tests with libllama 0.7 and 0.8, built from source; an hour (VERSIONS="0.8": some)
	@scripts/llama_versions.sh $(VERSIONS)

conformance: setup #: Try every architecture of libllama and write the table (ONLY=regex: some)
	@scripts/conformance.sh

fuzz-api: setup #: Made-up requests against docs/openapi.yaml (FUZZ_SECONDS=300, SEED=n)
	@scripts/build.sh cairn cairn-lab
	@scripts/fuzz_api.sh

jinja: setup-dev #: Templates beside Python's jinja2, byte for byte (CASES=20000)
	@scripts/build.sh jinja_differential_test
	@CAIRN_JINJA_CASES=$(or $(CASES),20000) build/tests/jinja_differential_test

fuzz: setup-dev #: Bytes nobody chose, with libFuzzer and sanitizers (FUZZ_SECONDS=60, TARGETS="api sse")
	@scripts/fuzz.sh $(TARGETS)

asan: setup-dev #: All tests under the address and undefined-behaviour sanitizers (PROGRAMS=tree/tree_test: some)
	@scripts/sanitize.sh asan $(PROGRAMS)

tsan: setup-dev #: All tests under the thread sanitizer (PROGRAMS="http/http_test api/api_test": some)
	@scripts/sanitize.sh tsan $(PROGRAMS)

crash: setup #: Kill a server 200 times while it writes (CRASHES=n)
	@scripts/build.sh crash_test crash_cost_test cairn
	@CAIRN_CRASHES=$(or $(CRASHES),200) build/tests/crash_test
	@CAIRN_CRASHES=$(or $(CRASHES),200) build/tests/crash_cost_test

models-test: setup #: Swap three models in 200 turns, kill one 50 times in mid-stream (TURNS=n, KILLS=n)
	@scripts/build.sh models_serve_test cairn
	@CAIRN_ROUTER_TURNS=$(or $(TURNS),200) CAIRN_ROUTER_KILLS=$(or $(KILLS),50) build/tests/models_serve_test

soak: setup #: Random clients, kills and damage for hours, every answer checked (HOURS=0.25, SEED=n)
	@scripts/soak.sh

sdk: setup #: The official OpenAI and Anthropic clients (npm) against a made model
	@scripts/build.sh cairn cairn-lab
	@scripts/sdk.sh

templates: #: Compare prompts with those of another template engine; needs node
	@scripts/templates/compare.sh

clients: setup #: Real clients against the server, into docs/clients.md (ONLY=pi,codex, TEMPLATES=gemma3: some)
	@scripts/build.sh cairn cairn-lab
	@scripts/model.sh gemma
	@scripts/clients/run.py $(if $(ONLY),--only $(ONLY)) \
	  $(if $(TEMPLATES),--templates $(TEMPLATES)) $(if $(KEEP),--keep $(KEEP))

bench: setup #: What the cache costs (BENCHMARKS=match,insert,evict,restore,prefill)
	@scripts/build.sh cache_bench
	@build/bench/cache_bench $(if $(BENCHMARKS),--benchmarks=$(BENCHMARKS))

# A variable of make is a setting of the benchmark: SCALE=0.5 is --scale 0.5. It writes its page of docs/;
# of a try, or of MODEL=file, the page is in build/.
bench-%: setup ## A benchmark beside llama-server (QUICK=1: a try); python3 scripts/bench lists them
	@scripts/build.sh cairn cairn-lab $(BUILDS_$*)
	@python3 scripts/bench $* $(ARGS)

BUILDS_resume := fault_library
BUILDS_schema-bench := schema_check
BUILDS_schema-peer := schema_check
BUILDS_schema-suite := schema_check

# What they do: make help-all, at its end. TRACES=folder, JOBS=n, FIRST=n; SHORT=1, ONLY=word; and of the
# schemas FOLDER=…, EVERY=20, MODEL=….
policies fleets abuse schema-bench schema-peer schema-suite: %: bench-%

demo: setup ## Conversations with and without checkpoints, side by side: build and play in ten minutes
	@scripts/build.sh --demo --no-page cairn cairn-demo
	@scripts/play.sh demo

serve: setup ## A server on the demo's model (MODEL=file, CHAT_TEMPLATE=name, PORT=8080)
	@scripts/build.sh --demo cairn cairn-demo
	@scripts/play.sh serve

model: setup #: The demo's model
	@scripts/build.sh --demo cairn-demo
	@scripts/model.sh

check: setup-dev ## Format, lint of what this branch changed, and tests
	@scripts/format.sh --check
	@scripts/build.sh
	@scripts/lint.sh
	@scripts/test.sh $(ARGS)

format: setup-dev ## Format all C++ files
	@scripts/format.sh

lint: setup-dev ## Linters over what this branch changed
	@scripts/build.sh --configure
	@scripts/lint.sh

lint-all: setup-dev #: Linters over everything
	@scripts/build.sh --configure
	@scripts/lint.sh --all

ci: #: What .ci/run runs: everything from nothing, the slow lanes on what changed
	@scripts/ci.sh

nightly: #: Everything that CI runs in a short form, whole; takes hours
	@scripts/nightly.sh

package: $(if $(filter system,$(KIND)),,setup) ## The .deb, in build/package; needs nothing else (KIND=system: for a libllama of Debian's; KIND=tar: an archive for any Linux)
	@scripts/package$(addprefix _,$(filter system tar,$(KIND))).sh $(if $(filter system,$(KIND)),$(SUITE))

release: #: The archive and the .deb with their checksums, in build/release
	@scripts/release.sh

lock: #: Write today's library versions and checksums to deps.lock
	@scripts/setup.sh --update-lock

clean: ## Remove what was built
	rm -rf build build-*

distclean: clean #: Remove libraries and models too
	rm -rf .deps models
