"""Tests of policies.py with a made program: what is kept, what is done again, what is said."""

import importlib.util
import tempfile
import unittest
from pathlib import Path

from bench.sims import policies, runs
from bench.sims.policies import Figures, disk_goals, disk_part, plot
from bench.sims.policies_plan import LLAMA, PARTS, SHIPPED, TRACES, Run, planned


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
        self.assertNotIn("tau-airline", {setting.trace for setting in plan.settings["disk"]})

    def test_plays_every_trace_with_disks_and_without(self):
        plan = planned(0, False, "--without messages")
        for trace in TRACES:
            sizes = {(each.ram_mib, each.disk_gib) for each in plan.settings["disk"]
                     if each.trace == trace}
            alone = {memory for memory, disk in sizes if not disk}
            self.assertEqual(alone, {memory for memory, disk in sizes if disk}, trace)
        self.assertEqual({(each.ram_mib, each.disk_gib) for each in plan.settings["disk"]
                          if each.trace == "claude-code"},
                         {(memory, disk) for memory in (4096, 8192, 16384)
                          for disk in (0, 32, 128)})

    def test_a_run_without_a_disk_is_the_one_of_the_other_parts(self):
        plan = planned(0, False, "--without messages")
        alone, others = plan.runs["disk"][0], plan.runs["whole"]
        self.assertNotIn("--disk-gib", alone.flags())
        self.assertIn(alone, others)
        beside = plan.runs["disk"][1]
        self.assertEqual(beside.flags()[beside.flags().index("--disk-gib") + 1], "32")
        self.assertIn("4 GiB + 32 GiB on disk", beside.title())
        self.assertTrue(beside.bound)


class APlot(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "there is no matplotlib "
                         "(scripts/report.sh --install)")
    def test_names_every_pair_and_what_it_leaves_out(self):
        plan = planned(0, False, "")
        settings = plan.settings["whole"]
        hits = {SHIPPED: 0.9, LLAMA: 0.3}

        class Found:
            def get(self, run):
                rate = hits[LLAMA if run.placement == LLAMA[0] else SHIPPED]
                return {"token_hit_rate": rate, "read_tokens_bound": 50, "prompt_tokens": 1000}

        with tempfile.TemporaryDirectory() as folder:
            text = plot(Figures(Found()), Path(folder) / "policies", "whole", "a trace", settings,
                        [SHIPPED, LLAMA])
            svg = (Path(folder) / "policies" / "whole.svg").read_text()
        self.assertTrue(text.startswith("![a trace](policies/whole.svg)"))
        self.assertIn("less than half the hits: llama-server's pair.", text)
        for name in ("auto + value", "the oracle", "4 GiB", "hits, % of prompt tokens"):
            self.assertIn(name, svg)


class Disks(unittest.TestCase):
    """Every run has the same figures, but for its hits."""

    FIGURES = {"prompt_tokens": 1_000_000, "read_tokens": 200_000, "unavoidable_tokens": 100_000,
               "read_tokens_bound": 125_000, "bound_kind": "upper",
               "checkpoints_per_10k_read_tokens": 1,
               "kv_bytes_per_token": 20_480, "disk_written_bytes": 5_000_000_000,
               "disk_read_bytes": 3_000_000_000, "disk_read_ms": 1500, "wait_ms": 90_000,
               "wait_ms_bound": 60_000, "wait_ms_median": 300, "wait_ms_p99": 4_000}

    def get(self, run):
        return {**self.FIGURES, "token_hit_rate": self.hits.get((run.trace, run.disk_gib), 0.8)}

    def setUp(self):
        self.hits = {}
        self.plan = planned(0, False, "--without messages")

    def goals(self) -> list:
        return disk_goals(Figures(self), self.plan.settings["disk"])

    def test_a_line_has_what_is_saved_and_what_it_costs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.plan.settings["disk"] = [each for each in self.plan.settings["disk"]
                                          if each.trace == "mooncake-conversation"]
            text = disk_part(Figures(self), self.plan, Path(folder))
        self.assertIn("The KV of a token is 20.5 KB.", text)
        self.assertIn("| 8 GiB + 32 GiB on disk | 80.00 | 87.50 (upper) | 200,000 | 2.000 "
                      "| 1.600 |", text)
        self.assertIn("| 8 GiB + 32 GiB on disk | 5.0 | 25.0 | 3.0 | 2 | 90 | 1.500 | 300 "
                      "| 4,000 |", text)
        self.assertIn("| 8 GiB |  |  |  |  | 90 | 1.500 | 300 | 4,000 |", text)

    def test_a_goal_is_missed_where_one_disk_has_fewer_hits_than_none(self):
        self.assertEqual([row[3] for row in self.goals()[-3:]], ["met"] * 3)
        self.hits = {("tau-airline", 4): 0.79}
        missed = [row for row in self.goals()[-3:] if row[3] != "met"]
        self.assertEqual(len(missed), 1)
        self.assertIn("tau-airline", missed[0][0])
        self.assertEqual(missed[0][2:], ["1.000", "**not met**"])

    def test_a_goal_of_hits_belongs_to_one_memory_and_one_disk(self):
        self.hits = {("claude-code", 128): 0.957}
        met = {row[0]: row[3] for row in self.goals() if row[0].endswith("hits")}
        self.assertEqual(met, {"4 GiB + 32 GiB on disk: hits": "**not met**",
                               "4 GiB + 128 GiB on disk: hits": "met",
                               "16 GiB + 32 GiB on disk: hits": "**not met**",
                               "16 GiB + 128 GiB on disk: hits": "**not met**"})


class Kept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in TRACES:
            (self.folder / f"{name}.jsonl").write_text("{}\n")
        self.program = self.folder / "cairn"
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)
        self.run_ = Run("tau-airline", 0, "m", 0, 4, 512, "auto", "value")

    def results(self):
        program = runs.Program.__new__(runs.Program)
        program.hash = runs.hash_of(self.program)
        traces = runs.Traces(self.folder, self.folder, TRACES)
        return runs.Results(self.folder / "results.json", program, traces)

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
        with self.assertRaises(SystemExit) as caught:
            policies.main(["--lab", str(self.program), "--traces", str(self.folder), "--work",
                           str(self.folder)])
        told = str(caught.exception)
        self.assertIn("tau-airline.jsonl", told)
        self.assertIn("sierra-research/tau-bench", told)
        self.assertNotIn("no claude-code.jsonl", told)

    def test_over_the_oracle_is_what_was_read_by_its_bound(self):
        results = self.results()
        setting = planned(0, False, "").settings["whole"][0]
        results.keep(Run(**vars(setting), placement="auto", eviction="value", bound=True),
                     1.0, {"read_tokens": 300, "read_tokens_bound": 200.0, "prompt_tokens": 1000,
                           "token_hit_rate": 0.7})
        figures = Figures(results)
        self.assertAlmostEqual(figures.over(setting, SHIPPED), 1.5)
        self.assertAlmostEqual(figures.oracle_hits(setting), 80)
