"""Runs a benchmark of the project: python3 scripts/bench NAME [flags]. Without a name it lists
them. `make bench-NAME` builds the programs first."""

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
ROOT = SCRIPTS.parent
sys.dont_write_bytecode = True
sys.path[:1] = [str(SCRIPTS), str(ROOT / "lab")]

# By name: the module, with a function that is not its main, and what it does. Those in PLOTTED draw
# with matplotlib.
BENCHMARKS = {
    "embeddings": ("bench.embeddings", "embeddings beside llama-server (flags alone)"),
    "media": ("bench.media", "prompts with pictures beside llama-server, into docs/media_bench.md"),
    "peers": ("bench.peers", "all scenarios beside llama-server, into docs/benchmarks.md"),
    "remote": ("bench.remote", "what the remote tier gives and costs, into docs/remote_bench.md"),
    "resume": ("bench.resume", "how a conversation goes on after a restart, into docs/resume.md"),
    "serve": ("bench.serve", "many clients at once beside llama-server, into docs/serve.md"),
    "start": ("bench.start", "how long a start takes beside llama-server, into docs/start.md"),
    "tiers": ("bench.tiers", "many conversations on little memory and a disk, into docs/tiers.md"),
    "volatile": ("bench.volatile", "clients with a clock in old text, into docs/volatile.md"),
    "policies": ("bench.sims.policies", "what each policy saves on traces, into docs/policies.md"),
    "fleets": ("bench.sims.fleets", "what fleets of servers save, into docs/fleet_simulation.md"),
    "abuse": ("abuse.run", "a hostile client beside another one, into docs/abuse.md"),
    "fleet": ("fleet.run", "four servers behind HAProxy; fails when a bound is missed"),
    "inputs": ("bench.inputs", "which of a folder's reported requests are answered as they should"),
    "llama-flags": ("bench.llama_flags", "whether the tests know llama-server's flags"),
    "llama-server": ("bench.servers:run_peer", "llama-server itself, with its own flags"),
    "schema-bench": ("bench.schemas.maskbench", "how MaskBench's JSON schemas are translated"),
    "schema-peer": ("bench.schemas.peer", "a sample of them on Cairn and on llama-server"),
    "schema-suite": ("bench.schemas.suite", "the official JSON Schema test suite"),
}
PLOTTED = ("peers", "serve", "policies", "fleets")
PLOTTING = ROOT / ".deps" / "report" / "venv"


def use_plotting_python():
    """Goes on in the Python that has matplotlib, which scripts/report.sh installs."""
    subprocess.run([SCRIPTS / "report.sh", "--install"], check=True)
    if Path(sys.prefix).resolve() != PLOTTING.resolve():
        python = str(PLOTTING / "bin" / "python3")
        os.execv(python, [python, *sys.orig_argv[1:]])


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in BENCHMARKS:
        print(f"{__doc__}\n")
        for name, (_, text) in BENCHMARKS.items():
            print(f"  {name:13} {text}")
        return 0 if argv in ([], ["--help"]) else 2
    name, *flags = argv
    if name in PLOTTED and "--help" not in flags:
        use_plotting_python()
    # As an interrupt: whoever ends it ends its servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    module, _, function = BENCHMARKS[name][0].partition(":")
    return getattr(importlib.import_module(module), function or "main")(flags) or 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
