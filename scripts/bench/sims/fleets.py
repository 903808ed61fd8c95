"""Plays traces on simulated fleets and writes docs/fleet_simulation.md: make fleets.

What a run found is kept in build/fleets/results.json (runs.py). The exit code is 0 when every run that
the page needs is there.
"""

from bench.settings import ROOT
from bench.sims.fleets_page import write_page
from bench.sims.fleets_plan import CLAUDE, MOONCAKE, PARTS, planned
from bench.sims.policies_plan import TRACES
from bench.sims.runs import SimSettings, do_runs, opened, told


def main(argv: list[str]) -> int:
    args = SimSettings("fleets", __doc__, argv, "fleet_simulation.md", PARTS).parsed()
    program, traces, results = opened(args, {name: TRACES[name] for name in (CLAUDE, MOONCAKE)})
    plan = planned(args.first)
    failed = do_runs(args, program, traces, results, plan.all(args.only))
    missing = write_page(args.out, plan, results, ROOT / "docs" / "fleet_sizing.md", args.first)
    return told(args, failed, missing)
