import unittest

from report.page import (Bullets, Cell, Code, Heading, Paragraph, Picture, Table, blocks_of, html,
                         markdown)
from report.plots import LinePlot

BLOCKS = [Heading(2, "A & b"), Paragraph("It **holds** in `a<b`."), Bullets(["one <b>"]),
          Table(["name", "ms"], [["a|b", Cell("1.00 s", 1000)]]), Code("x < y\n"),
          Picture("p.svg", "A plot", LinePlot("", "", "", [], []))]


class APage(unittest.TestCase):
    def test_is_markdown_with_links_to_plots(self):
        self.assertEqual(
            markdown(BLOCKS, "plots/"),
            "## A & b\n\nIt **holds** in `a<b`.\n\n- one &lt;b&gt;\n\n"
            "| name | ms |\n| --- | --: |\n| a\\|b | 1.00 s |\n\n```\nx < y\n```\n\n"
            "![A plot](plots/p.svg)\n")

    def test_is_html_with_its_plots_inside(self):
        page = html(BLOCKS, {"p.svg": b"<svg/>"})
        for part in ("<h2>A &amp; b</h2>", "<strong>holds</strong> in <code>a&lt;b</code>",
                     "<li>one &lt;b&gt;</li>", '<td data-value="1000">1.00 s</td>',
                     "<pre>x &lt; y</pre>", 'src="data:image/svg+xml;base64,PHN2Zy8+"'):
            self.assertIn(part, page)
        self.assertTrue(page.endswith("</html>\n"))


class Facts(unittest.TestCase):
    def test_are_paragraphs_and_code(self):
        self.assertEqual(blocks_of("```\nmake a \\\n  b\n```\n\nOne\nline.\n\nAnother.\n"),
                         [Code("make a \\\n  b\n"), Paragraph("One line."), Paragraph("Another.")])
        self.assertEqual(blocks_of(""), [])


if __name__ == "__main__":
    unittest.main()
