#!/usr/bin/env python3
"""Plays traces on simulated fleets and writes docs/fleet_simulation.md. Called by `make fleets`.

    fleets.py [--traces FOLDER] [--cairn FILE] [--first N] [--only PART,…] [--no-runs]
              [--pause-while FILE]

What a run found is kept in build/fleets/results.json, as scripts/policies.py keeps its own. The
exit code is 0 when every run that the page needs is there.
"""

import argparse
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "lab")]

from fleets_plan import CLAUDE, MOONCAKE, PARTS, planned  # noqa: E402
from fleets_report import write_page  # noqa: E402
from policies import Program, Results, Runner, Traces, fail  # noqa: E402
from policies_plan import TRACES  # noqa: E402


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cairn", type=Path, default=ROOT / "build" / "cairn-lab")
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared" / "traces",
                        help="folder of the traces")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--first", type=int, default=0,
                        help="only the first N lines of each trace, as a quick check; the page "
                             "goes to build/fleets/first-N then")
    parser.add_argument("--only", default="", help="some parts: " + ", ".join(PARTS))
    parser.add_argument("--no-runs", action="store_true",
                        help="write the page from what there is")
    parser.add_argument("--pause-while", type=Path, help="halt the run while this file exists")
    args = parser.parse_args()
    unknown = [part for part in args.only.split(",") if part and part not in PARTS]
    if unknown or args.first < 0 or args.jobs < 1:
        fail(f"no part is named {', '.join(unknown)}; there are: {', '.join(PARTS)}" if unknown
             else "--jobs is at least 1, and --first not negative")
    return args


def main() -> int:
    args = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    scratch = ROOT / "build" / "fleets"
    scratch.mkdir(parents=True, exist_ok=True)
    program = Program(args.cairn.resolve())
    traces = Traces(args.traces, scratch, {name: TRACES[name] for name in (CLAUDE, MOONCAKE)})
    results = Results(scratch / "results.json", program, traces)
    plan = planned(args.first)
    wanted = [part for part in args.only.split(",") if part] or PARTS
    failed = 0
    if not args.no_runs:
        runner = Runner(program, traces, results, scratch, args)
        runner.do(plan.all(wanted))
        failed = runner.failed
    page = (scratch / f"first-{args.first}" if args.first else ROOT / "docs") / "fleet_simulation.md"
    missing = write_page(page, plan, results, ROOT / "docs" / "fleet_sizing.md", args.first)
    print(f"wrote {page}" + (f"; {missing} runs are missing in it" if missing else ""))
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
