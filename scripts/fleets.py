#!/usr/bin/env python3
"""Plays traces on simulated fleets and writes docs/fleet_simulation.md. Called by `make fleets`.

    fleets.py [--traces FOLDER] [--cairn FILE] [--first N] [--only PART,…] [--no-runs]
              [--pause-while FILE]

What a run found is kept in build/fleets/results.json, as scripts/policies.py keeps its own. The
exit code is 0 when every run that the page needs is there.
"""

import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "lab")]

from fleets_plan import CLAUDE, MOONCAKE, PARTS, planned  # noqa: E402
from fleets_report import write_page  # noqa: E402
from policies import Program, Results, Runner, Traces, checked, parser_of  # noqa: E402
from policies_plan import TRACES  # noqa: E402


def main() -> int:
    args = checked(parser_of(__doc__, "fleets", PARTS).parse_args(), PARTS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    scratch = ROOT / "build" / "fleets"
    scratch.mkdir(parents=True, exist_ok=True)
    program = Program(args.cairn.resolve())
    traces = Traces(args.traces, scratch, {name: TRACES[name] for name in (CLAUDE, MOONCAKE)})
    results = Results(scratch / "results.json", program, traces)
    plan = planned(args.first)
    failed = 0
    if not args.no_runs:
        runner = Runner(program, traces, results, scratch, args)
        runner.do(plan.all(args.parts))
        failed = runner.failed
    page = (scratch / f"first-{args.first}" if args.first else ROOT / "docs") / "fleet_simulation.md"
    missing = write_page(page, plan, results, ROOT / "docs" / "fleet_sizing.md", args.first)
    print(f"wrote {page}" + (f"; {missing} runs are missing in it" if missing else ""))
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
