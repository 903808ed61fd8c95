# Two commands are all a newcomer needs: `make demo` and `make test`. Each gets what it needs first.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help help-all setup setup-test setup-dev build test llama-flags llama-versions fleet-test test-rpc test-setup test-vulkan conformance fuzz fuzz-api abuse sdk clients templates bench policies fleets \
  asan tsan web-test schema-bench schema-peer schema-suite bench-media bench-peers bench-remote bench-resume bench-serve bench-start bench-tiers bench-volatile crash models-test soak package package-test release service-test demo serve model check format lint lint-all ci nightly lock clean distclean

help: ## This list; make help-all has every test and benchmark too
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

help-all:
	@awk -F ':.*#[\#:] ' '/^[a-z-]+:.*#[#:] / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

test-vulkan: setup #: Tests of ggml's Vulkan backend, on Mesa's software driver where there is no GPU
	@scripts/test_vulkan.sh $(ARGS)

test-rpc: #: A model split over two workers; adds ggml's RPC backend to the private prefix
	@scripts/test_rpc.sh $(ARGS)

fleet-test: setup #: Four servers behind HAProxy, one killed, one drained; as root in namespaces (SHORT=1, ARGS=…)
	@scripts/build.sh cairn cairn-lab
	@SHORT=$(SHORT) scripts/test_fleet.sh $(ARGS)

llama-flags: setup #: Compare the list of llama-server's flags with its --help (UPDATE=1: rewrite the list)
	@scripts/llama_flags.sh $(if $(UPDATE),--update)

test-setup: #: The tests of the set-up script alone; needs nothing
	@scripts/setup_test.sh

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

abuse: setup #: A hostile client beside another one, and on llama-server, into docs/abuse.md (SHORT=1, ONLY=word)
	@scripts/build.sh cairn cairn-lab
	@SHORT=$(SHORT) ONLY="$(ONLY)" scripts/abuse.sh $(ARGS)

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

web-test: setup #: The page in a browser, against made models; needs Node.js 18 and Chromium
	@scripts/build.sh cairn cairn-lab
	@scripts/web_test.sh $(ARGS)

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

schema-bench: setup #: How JSON schemas are translated, on MaskBench's schemas (FOLDER=…/maskbench/data; EVERY=20: some)
	@scripts/build.sh schema_check
	@scripts/schemas/bench.py "$(FOLDER)" $(if $(EVERY),--every $(EVERY))

schema-peer: setup #: 500 of MaskBench's schemas on a server of ours and on llama-server (FOLDER=…/maskbench/data, MODEL=…)
	@scripts/build.sh cairn schema_check
	@scripts/schemas/peer.py "$(FOLDER)" --model "$(MODEL)" --count $(or $(COUNT),500)

schema-suite: setup #: The same on the official JSON Schema test suite (FOLDER=…/JSON-Schema-Test-Suite)
	@scripts/build.sh schema_check
	@scripts/schemas/suite.py "$(FOLDER)"

bench-media: setup #: Prompts with pictures beside llama-server, into docs/media_bench.md (QUICK=1: a try)
	@scripts/build.sh cairn cairn-lab
	@scripts/bench_media.py $(if $(QUICK),--quick)

bench-peers: setup #: Beside llama-server, into docs/benchmarks.md (QUICK=1: a try; MODEL=file: on it)
	@scripts/build.sh cairn cairn-lab
	@scripts/bench_peers.sh $(if $(QUICK),--quick)

bench-remote: setup #: What the remote tier gives and costs, into docs/remote_bench.md (QUICK=1: a try)
	@scripts/build.sh cairn cairn-lab
	@scripts/bench_remote.py $(if $(MODEL),--model $(MODEL)) $(if $(TOKENS),--tokens $(TOKENS)) \
	  $(if $(PARTS),--parts $(PARTS)) $(if $(QUICK),--quick)

bench-resume: setup #: How long a conversation takes to go on after a restart, into docs/resume.md (TOKENS="n n")
	@scripts/build.sh cairn cairn-lab fault_library
	@scripts/bench_resume.py $(if $(MODEL),--model $(MODEL)) $(if $(TOKENS),--tokens $(TOKENS)) \
	  $(if $(QUICK),--quick) \
	  $(if $(DISK_READ_MIB_S),--disk-read-mib-s $(DISK_READ_MIB_S))

bench-serve: setup #: Many clients at once, beside llama-server, into docs/serve.md (QUICK=1: a try)
	@scripts/build.sh cairn cairn-lab
	@scripts/bench_serve.sh $(if $(QUICK),--quick)

bench-start: setup #: How long a start takes, beside llama-server, into docs/start.md (PAIRS=5)
	@scripts/build.sh cairn cairn-lab
	@scripts/bench_start.sh $(MODELS)

bench-tiers: setup #: Many conversations on little memory and a disk, into docs/tiers.md (QUICK=1: a try; MODEL=file: on it)
	@scripts/build.sh cairn cairn-lab
	@scripts/bench_tiers.py $(if $(QUICK),--quick)

bench-volatile: setup #: Clients with a clock in old text, beside llama-server, into docs/volatile.md (MODEL=file)
	@scripts/build.sh cairn
	@scripts/bench_volatile.py

policies: setup #: What each policy saves, into docs/policies.md (TRACES=folder, JOBS=n, FIRST=n)
	@scripts/build.sh cairn cairn-lab
	@scripts/report.sh --install
	@.deps/report/venv/bin/python3 scripts/policies.py $(if $(TRACES),--traces $(TRACES)) $(if $(JOBS),--jobs $(JOBS)) \
	  $(if $(FIRST),--first $(FIRST))

fleets: setup #: What fleets of servers save, into docs/fleet_simulation.md (TRACES=folder, FIRST=n)
	@scripts/build.sh cairn-lab
	@scripts/report.sh --install
	@.deps/report/venv/bin/python3 scripts/fleets.py $(if $(TRACES),--traces $(TRACES)) $(if $(FIRST),--first $(FIRST))

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

ci: ## What .ci/run runs: everything from nothing, the slow lanes on what changed
	@scripts/ci.sh

nightly: ## Everything that CI runs in a short form, whole; takes hours
	@scripts/nightly.sh

package: $(if $(filter system,$(KIND)),,setup) ## The .deb, in build/package; needs nothing else (KIND=system: for a libllama of Debian's; KIND=tar: an archive for any Linux)
	@scripts/package$(addprefix _,$(filter system tar,$(KIND))).sh $(if $(filter system,$(KIND)),$(SUITE))

package-test: setup package #: Install the .deb in a fresh system and ask it; needs root and mmdebstrap (KIND=system, KIND=tar, SUITE=sid)
	@scripts/build.sh cairn-lab
	@$(if $(KIND),KIND=$(KIND)) $(if $(SUITE),SUITE=$(SUITE)) scripts/package$(addprefix _,$(filter tar,$(KIND)))_test.sh

release: #: The archive and the .deb with their checksums, in build/release
	@scripts/release.sh

service-test: setup package #: Boot a fresh system and try the package's systemd service there; needs systemd-nspawn too
	@scripts/build.sh cairn-lab
	@$(if $(KIND),KIND=$(KIND)) $(if $(SUITE),SUITE=$(SUITE)) scripts/service_test.sh

lock: #: Write today's library versions and checksums to deps.lock
	@scripts/setup.sh --update-lock

clean: ## Remove what was built
	rm -rf build build-*

distclean: clean #: Remove libraries and models too
	rm -rf .deps models
