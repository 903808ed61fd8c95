import unittest

from report.page import blocks_of, html, markdown, pictures
from report.plots import DotPlot, is_empty
from report.result import Result
from report.sample import alone, expect_golden, of_model, sample, unknown
from report.scenario_page import (first_token_plot, pictures_of, ratio_plot, read_plot,
                                  scenario_page)


def row_of(plot: DotPlot, label: str):
    return next(row for row in plot.rows if row.label == label)


class ThePage(unittest.TestCase):
    def test_says_what_holds_and_what_does_not(self):
        other = of_model(sample(), "mamba2.gguf", "recurrent")
        facts = blocks_of("The machine has two cores.\n")
        page = markdown(scenario_page([sample(), other], facts), "benchmarks/")
        expect_golden(self, "bench_page.md", page)

    def test_has_no_links_to_plots_that_nobody_wrote(self):
        self.assertNotIn("![", markdown(scenario_page([sample()], []), ""))

    def test_of_nothing_says_so(self):
        for results in ([], [Result(1, 0, [])]):
            self.assertEqual(markdown(scenario_page(results, []), ""),
                             "# Benchmarks\n\nNothing was played.\n")

    def test_as_html_asks_nobody_for_anything(self):
        blocks = scenario_page([sample()], [])
        page = html(blocks, {picture.file: b"<svg/>" for picture in pictures(blocks)})
        for outside in ('src="http', "<link rel=\"stylesheet", "@import", "url(", "fetch("):
            self.assertNotIn(outside, page)
        self.assertEqual(page.count("<img "), 3)
        self.assertIn("&lt;out of memory&gt; &amp; more", page)

    def test_names_plots_by_model(self):
        files = [picture.file for picture in pictures_of(sample())]
        self.assertEqual(files, ["hybrid-qwen35-read.svg", "hybrid-qwen35-first-token.svg",
                                 "hybrid-qwen35-ratio.svg"])
        self.assertEqual(len(pictures_of(unknown())), 2)


class ThePlots(unittest.TestCase):
    def test_show_tokens_over_the_lower_bound_and_the_worst_in_the_title(self):
        plot = read_plot(sample())
        self.assertEqual([row.label for row in plot.rows], ["edit-early", "chat"],
                         "the worst is on top")
        self.assertEqual([mark.text for mark in row_of(plot, "chat").marks], ["1.00", "2.18"])
        self.assertEqual(plot.title, "Tokens prefilled over the lower bound, at worst: cairn 1.05; "
                         "llama-server 2.82")
        self.assertEqual((plot.reference, plot.reference_label), (1, "lower bound"))

    def test_show_medians_of_first_tokens_up_to_the_90th_percentile(self):
        ours, theirs = row_of(first_token_plot(sample()), "chat").marks
        self.assertEqual((ours.text, theirs.text), ("55.0 ms", "660 ms"))
        self.assertGreater(ours.high, ours.value)

    def test_show_ratios_beside_each_peer_and_their_mean_in_the_title(self):
        plot = ratio_plot(sample())
        self.assertEqual(plot.series, ["llama-server"])
        self.assertEqual(plot.colours, [1], "a server keeps its colour in every plot")
        mark = row_of(plot, "chat").marks[0]
        self.assertAlmostEqual(mark.low, 1 / 12)
        self.assertAlmostEqual(mark.high, 1)
        self.assertIn("geometric mean: 0.17 beside llama-server", plot.title)

    def test_are_empty_when_there_is_nothing_to_draw(self):
        nothing = Result(1, 0, [])
        for plot in (read_plot(nothing), first_token_plot(nothing), ratio_plot(nothing),
                     read_plot(unknown()), ratio_plot(alone(sample().servers[0]))):
            self.assertTrue(is_empty(plot))
        self.assertFalse(is_empty(first_token_plot(alone(sample().servers[0]))))


if __name__ == "__main__":
    unittest.main()
