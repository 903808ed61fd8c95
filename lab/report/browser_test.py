"""The HTML page in a browser: headless Chromium must show it without a complaint, with its plots,
and sort its table. Without Chromium or matplotlib the tests are skipped, unless
CAIRN_NEEDS_CHROMIUM is set in the environment."""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from report.__main__ import main
from report.sample import SAMPLE_JSON

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
HAVE = BROWSER is not None and importlib.util.find_spec("matplotlib") is not None
WHY = "there is no Chromium (apt install chromium) or no matplotlib (scripts/report.sh --install)"

# Puts what the page shows where --dump-dom sees it: of each picture its width.
LOOK = """<script>addEventListener("load", () => {
  document.title = [...document.images].map((image) => image.naturalWidth).join(" ");
})</script>"""


@unittest.skipUnless(HAVE or os.environ.get("CAIRN_NEEDS_CHROMIUM"), WHY)
class ThePageInABrowser(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.assertIsNotNone(BROWSER, "CAIRN_NEEDS_CHROMIUM is set, but there is no Chromium")

    def browse(self, page: str) -> tuple[str, list[str]]:
        """The document and what the page's console said."""
        path = self.folder / "page.html"
        path.write_text(page, encoding="utf-8")
        shown = subprocess.run(
            [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0",
             f"--user-data-dir={self.folder / 'profile'}", path.as_uri()],
            capture_output=True, text=True, timeout=90, check=True)
        return shown.stdout, [line for line in shown.stderr.split("\n") if "CONSOLE" in line]

    def page(self, kind: str) -> str:
        path = self.folder / "written.html"
        self.assertEqual(main([kind, str(SAMPLE_JSON), "--html", str(path)]), 0)
        return path.read_text(encoding="utf-8")

    def test_is_shown_with_its_plots(self):
        for kind, plots in (("scenarios", 3), ("load", 2)):
            document, complaints = self.browse(self.page(kind) + LOOK)
            self.assertEqual(complaints, [])
            widths = re.search("<title>(.*)</title>", document).group(1).split()
            self.assertEqual(len(widths), plots)
            self.assertTrue(all(int(width) > 100 for width in widths), widths)

    def test_sorts_a_table_when_a_heading_is_clicked(self):
        click = "<script>[...document.querySelectorAll('th')].find((head) => " \
                "head.textContent === 'prefilled').click()</script>"
        document, complaints = self.browse(self.page("scenarios") + click)
        self.assertEqual(complaints, [])
        self.assertIn('aria-sort="descending"', document)
        self.assertLess(document.index('<td data-value="15800">'),
                        document.index('<td data-value="5600">'))

    def test_would_be_caught_complaining(self):
        _, complaints = self.browse("<script>missing()</script>")
        self.assertIn("missing is not defined", "".join(complaints))


if __name__ == "__main__":
    unittest.main()
