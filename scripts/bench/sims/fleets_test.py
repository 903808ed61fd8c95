"""Tests of fleets.py without runs: which are planned, and what the page says of them."""

import tempfile
import unittest
from pathlib import Path

from bench.sims.fleets import write_page
from bench.sims.fleets_plan import CLAUDE, LARGE, PARTS, Run, front_run, planned, scale_run


class APlan(unittest.TestCase):
    def test_plays_a_copy_for_four_servers(self):
        self.assertEqual(Run(CLAUDE, 4, "hash").copies(), 1)
        flags = scale_run(CLAUDE, LARGE, "prefix").flags()
        self.assertEqual(flags[flags.index("--copies") + 1], "250")
        self.assertEqual(flags[flags.index("--sessions") + 1], "8000")
        self.assertIn("--cell-servers", flags)

    def test_asks_for_one_large_server_where_the_page_compares_with_it(self):
        self.assertIn("--one-large", front_run(CLAUDE, "hash").flags())
        self.assertNotIn("--one-large", scale_run(CLAUDE, LARGE, "hash").flags())

    def test_takes_no_more_lines_than_asked_for(self):
        self.assertEqual({run.first for run in planned(5).all(PARTS)}, {5})


class APage(unittest.TestCase):
    FOUND = {"token_hit_rate": 0.9, "read_tokens": 1000, "unavoidable_tokens": 800,
             "read_over_unavoidable": 1.25, "read_over_one_large": 1.1, "moved": 7,
             "requests": 50, "requests_per_min": 100, "servers_played": 4,
             "one_large_server": {"token_hit_rate": 0.92, "read_tokens": 900},
             "second_half": {"token_hit_rate": 0.8},
             "requests_of_servers": {"max_over_mean": 1.5},
             "read_tokens_of_servers": {"max_over_mean": 1.6},
             "remote_tier": {"uploaded_bytes": 3 << 30, "downloaded_bytes": 2 << 30, "fetches": 9,
                             "uploads_left_out": 5}}

    def written(self, found):
        class Results:
            def get(self, _run):
                return found

        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            missing = write_page(page, planned(0), Results(), Path(folder) / "none.md")
            return page.read_text(), missing

    def test_says_how_many_runs_are_missing(self):
        text, missing = self.written(None)
        self.assertEqual(missing, len(planned(0).all(PARTS)))
        self.assertIn(f"{missing} of {missing} runs are missing", text)

    def test_has_a_row_for_each_run(self):
        text, missing = self.written(self.FOUND)
        self.assertEqual(missing, 0)
        self.assertIn("| hash, one lost, remote | 90.00 | 80.00 | 1.250 | 3.0 | 2.0 | 9 | 5 |",
                      text)
        self.assertIn("| one large server | 92.00 | 900 | 1.125 | 1 | 0 | 1 |  |", text)
