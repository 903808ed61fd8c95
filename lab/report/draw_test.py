"""What matplotlib makes of plots. Without it the tests are skipped, unless
CAIRN_NEEDS_MATPLOTLIB is set in the environment."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

from report.plots import DotPlot, Line, LinePlot, Mark, Row, drawn, left_out, spread
from report.sample import ROOT, SAMPLE_JSON

HAVE = importlib.util.find_spec("matplotlib") is not None
WHY = "there is no matplotlib (scripts/report.sh --install)"


def dot_plot(value: float) -> DotPlot:
    return DotPlot("a < b", "an axis", ["one & two"],
                   [Row("first", [Mark(1, "1.00")]), Row("second", [Mark(value, "other")])],
                   reference=1, reference_label="the same", sides=("less", "more"))


def line_plot() -> LinePlot:
    return LinePlot("a < b", "hits, %", "RAM", ["4 GiB", "8 GiB"],
                    [Line("one & two", [50, None]), Line("the oracle", [60, 70], True)])


def texts(svg: bytes) -> list[str]:
    document = xml.dom.minidom.parseString(svg)
    return [node.firstChild.nodeValue or "" for node in document.getElementsByTagName("text")
            if node.firstChild]


@unittest.skipUnless(HAVE or os.environ.get("CAIRN_NEEDS_MATPLOTLIB"), WHY)
class ADrawing(unittest.TestCase):
    def draw(self, plot) -> bytes:
        from report.draw import draw
        return draw(plot)

    def test_has_its_texts_as_text(self):
        shown = texts(self.draw(dot_plot(3)))
        for text in ("a < b", "an axis", "● one & two", "first", "1.00", "other", "the same",
                     "less", "more"):
            self.assertIn(text, shown)

    def test_names_every_line_at_its_end(self):
        shown = texts(self.draw(line_plot()))
        for text in ("a < b", "hits, %", "RAM", "4 GiB", "one & two", "the oracle"):
            self.assertIn(text, shown)

    def test_is_drawn_whatever_the_values(self):
        for value in (1e-3, 1.0, 1.0001, 7.0, 1e9):
            svg = self.draw(dot_plot(value)).decode()
            self.assertNotIn("nan", svg.lower())
            self.assertIn("other", svg)

    def test_has_a_logarithmic_axis_where_values_differ_much(self):
        self.assertIn("an axis", texts(self.draw(dot_plot(4.9))))
        self.assertIn("an axis, logarithmic", texts(self.draw(dot_plot(5))))

    def test_is_the_same_bytes_in_another_process(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a", "b"):
                subprocess.run([sys.executable, "-B", "-m", "report", "scenarios", SAMPLE_JSON,
                                "--svg-dir", Path(folder) / name, "--html",
                                Path(folder) / name / "page.html"], check=True, cwd=ROOT / "lab")
            files = sorted(path.name for path in (Path(folder) / "a").iterdir())
            self.assertEqual(len(files), 4)
            for file in files:
                self.assertEqual((Path(folder) / "a" / file).read_bytes(),
                                 (Path(folder) / "b" / file).read_bytes(), file)


class Labels(unittest.TestCase):
    def test_do_not_lie_on_each_other(self):
        placed = sorted(spread([100, 101, 102, 350], 40, 354, 17))
        self.assertTrue(all(b - a >= 17 for a, b in zip(placed, placed[1:])), placed)
        self.assertTrue(placed[0] >= 40 and placed[-1] <= 354)


class Lines(unittest.TestCase):
    def test_that_would_flatten_the_others_are_left_out(self):
        lines = [Line("none", [0, 0]), Line("auto", [90, 95]), Line("missing", [None, None])]
        self.assertEqual(left_out(lines), ["none", "missing"])
        self.assertEqual([line.name for line in drawn(lines)], ["auto"])


if __name__ == "__main__":
    unittest.main()
