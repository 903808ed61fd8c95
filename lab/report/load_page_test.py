import unittest

from report.load_figures import FIGURES, WORKLOADS, median
from report.load_page import load_page, pictures_of
from report.page import blocks_of, markdown
from report.result import Result, ResultError, merge
from report.sample import alone, expect_golden, of_model, sample


class Figures(unittest.TestCase):
    def test_have_each_key_once_and_a_workload_that_is_there(self):
        keys = [(figure.workload, figure.key) for figure in FIGURES]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertLessEqual({figure.workload for figure in FIGURES},
                             {workload.name for workload in WORKLOADS})

    def test_are_medians_of_the_runs_that_went_well(self):
        slow = sample()
        slow.servers[0].load_runs[0].figures["prompt_1"] = 1000
        server = merge([sample(), slow, slow])[0].servers[0]
        self.assertEqual(median(server, "speed", "prompt_1"), 1000)
        server.load_runs[4].error = "broke off"
        self.assertEqual(median(server, "speed", "prompt_1"), 1500)
        self.assertIsNone(median(server, "speed", "nothing"))


class ThePage(unittest.TestCase):
    def test_shows_both_servers_and_ours_over_theirs(self):
        page = markdown(load_page([sample()], blocks_of("Two cores.\n")), "serve/")
        expect_golden(self, "load_page.md", page)
        self.assertIn("1 client, as the server says | 2,000 | 167 | 12.0 | more |", page)
        self.assertIn("- llama-server, run 1: status 500, 1,234 times\n", page)
        self.assertNotIn("## Long prompts", page, "that was not played")

    def test_has_no_share_of_what_is_unknown(self):
        result = sample()
        result.servers[1].load_runs[1].error = "a request failed"
        page = markdown(load_page([result], []), "")
        self.assertIn("- llama-server, run 1 ended early: a request failed\n", page)
        self.assertIn("| gap during, p99 | 3.00 ms | - | - | less |", page)

    def test_of_one_server_has_no_shares(self):
        page = markdown(load_page([alone(sample().servers[0])], []), "")
        self.assertIn("| prompt tokens/s, 1 client, as the server says | 2,000 | more |", page)
        self.assertNotIn("ours", page)

    def test_of_nothing_says_so(self):
        self.assertEqual(markdown(load_page([Result(1, 1, [])], []), ""),
                         "# Many at once\n\nNothing was played.\n")

    def test_has_no_long_lines_but_tables(self):
        page = markdown(load_page([sample()], []), "")
        self.assertEqual([line for line in page.split("\n")
                          if len(line) > 100 and not line.startswith("|")], [])

    def test_refuses_figures_without_a_title(self):
        result = sample()
        result.servers[0].load_runs[0].figures["new_one"] = 1
        with self.assertRaisesRegex(ResultError, "'speed' has a figure 'new_one'"):
            load_page([result], [])

    def test_refuses_several_models(self):
        with self.assertRaisesRegex(ResultError, "several models"):
            load_page([sample(), of_model(sample(), "other.gguf")], [])


class ThePlots(unittest.TestCase):
    def test_are_those_that_there_is_something_to_show_in(self):
        first_token, gaps = pictures_of(sample())
        self.assertEqual((first_token.file, gaps.file), ("first-token.svg", "gaps.svg"))
        self.assertEqual([row.label for row in first_token.plot.rows], ["turns"])
        self.assertIn("99th percentile: cairn 3.00 ms; llama-server 36.0 ms", gaps.plot.title)
        speed = sample()
        for server in speed.servers:
            server.load_runs = server.load_runs[:1]
        self.assertEqual(pictures_of(speed), [])


if __name__ == "__main__":
    unittest.main()
