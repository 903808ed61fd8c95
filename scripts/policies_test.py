#!/usr/bin/env python3
"""Tests of policies.py with a made program: what is kept, what is done again, what is said."""

import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import policies  # noqa: E402
from policies_plan import PARTS, SHIPPED, Run, planned  # noqa: E402
from policies_plot import Line, draw, left_out, spread  # noqa: E402
from policies_report import Figures  # noqa: E402

SCRIPT = Path(__file__).resolve().parent / "policies.py"


class APlan(unittest.TestCase):
    def test_asks_for_the_oracle_once_a_budget(self):
        for part in ("whole", "evictions", "mooncake"):
            plan = planned(0, False, "--without messages")
            bounds = [run.ram_mib for run in plan.runs[part] if run.bound]
            self.assertEqual(bounds, [setting.ram_mib for setting in plan.settings[part]])

    def test_takes_no_more_lines_than_asked_for(self):
        plan = planned(5, False, "--without messages")
        self.assertEqual({run.first for part in PARTS for run in plan.runs[part]}, {5})

    def test_says_why_dialogues_are_left_out(self):
        plan = planned(0, False, "an older program")
        self.assertEqual(plan.runs["tau"], [])
        self.assertIn("--without", plan.left_out["tau"])


class Kept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in policies.TRACES:
            (self.folder / f"{name}.jsonl").write_text("{}\n")
        self.program = self.folder / "cairn"
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)
        self.run_ = Run("tau-airline", 0, "m", 0, 4, 512, "auto", "value")

    def results(self):
        program = policies.Program.__new__(policies.Program)
        program.hash = policies.hash_of(self.program)
        traces = policies.Traces(self.folder, self.folder)
        return policies.Results(self.folder / "results.json", program, traces)

    def test_figures_stay_for_the_same_program_and_trace_alone(self):
        self.results().keep(self.run_, 1.0, {"read_tokens": 7})
        self.assertEqual(self.results().get(self.run_), {"read_tokens": 7})
        self.program.write_text("#!/bin/sh\n:\n")
        self.assertIsNone(self.results().get(self.run_))
        self.program.write_text("#!/bin/sh\n")
        (self.folder / "tau-airline.jsonl").write_text("{}\n{}\n")
        self.assertIsNone(self.results().get(self.run_))

    def test_missing_traces_are_named_with_their_source(self):
        (self.folder / "tau-airline.jsonl").unlink()
        told = subprocess.run([sys.executable, SCRIPT, "--cairn", self.program, "--traces",
                               self.folder], capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 1)
        self.assertIn("tau-airline.jsonl", told.stderr)
        self.assertIn("sierra-research/tau-bench", told.stderr)
        self.assertNotIn("no claude-code.jsonl", told.stderr)

    def test_over_the_oracle_is_what_was_read_by_its_bound(self):
        results = self.results()
        setting = planned(0, False, "").settings["whole"][0]
        results.keep(policies.Run(**vars(setting), placement="auto", eviction="value", bound=True),
                     1.0, {"read_tokens": 300, "read_tokens_bound": 200.0, "prompt_tokens": 1000,
                           "token_hit_rate": 0.7})
        figures = Figures(results)
        self.assertAlmostEqual(figures.over(setting, SHIPPED), 1.5)
        self.assertAlmostEqual(figures.oracle_hits(setting), 80)


class APlot(unittest.TestCase):
    def test_is_xml_and_names_every_line(self):
        text = draw("a < b", ["4 GiB", "8 GiB"], [Line("one & two", [50, None]),
                                                  Line("oracle", [60, 70], True)])
        xml.dom.minidom.parseString(text)
        self.assertIn("one &amp; two", text)
        self.assertIn("prefers-color-scheme: dark", text)

    def test_labels_do_not_lie_on_each_other(self):
        placed = sorted(spread([100, 101, 102, 350], 40, 354))
        self.assertTrue(all(b - a >= 17 for a, b in zip(placed, placed[1:])), placed)
        self.assertTrue(placed[0] >= 40 and placed[-1] <= 354)

    def test_says_which_lines_would_flatten_the_others(self):
        self.assertEqual(left_out([Line("none", [0, 0]), Line("auto", [90, 95])]), ["none"])


if __name__ == "__main__":
    unittest.main()
