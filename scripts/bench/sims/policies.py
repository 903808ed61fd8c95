"""Replays traces under every policy and writes docs/policies.md: make policies.

What a run found is kept in build/policies/results.json (runs.py). The exit code is 0 when every run
that the page needs is there.
"""

from bench.settings import ROOT
from bench.sims.policies_page import write_page
from bench.sims.policies_plan import PARTS, TRACES, planned
from bench.sims.runs import SimSettings, do_runs, opened, told


def main(argv: list[str]) -> int:
    settings = SimSettings("policies", __doc__, argv, "policies.md", PARTS)
    settings.flag("all-pairs", "every placement with every eviction, not only with the defaults")
    args = settings.parsed()
    program, traces, results = opened(args, TRACES)
    plan = planned(args.first, args.all_pairs, program.help)
    runs = dict.fromkeys(run for part in args.only for run in plan.runs[part])
    failed = do_runs(args, program, traces, results, list(runs))
    missing = write_page(args.out, plan, results, ROOT / "docs" / "policies_tried.md")
    for part, reason in plan.left_out.items():
        print(f"left out {part}: {reason}")
    return told(args, failed, missing)
