import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from report.__main__ import main
from report.sample import SAMPLE_JSON


class TheProgram(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def complaint(self, *arguments: str) -> str:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(main([*arguments]), 1)
        return said.getvalue()

    def test_writes_a_page_with_the_facts(self):
        facts = self.folder / "facts.md"
        facts.write_text("On a machine.\n", encoding="utf-8")
        for page, title in (("scenarios", "# Benchmarks"), ("load", "# Many at once")):
            path = self.folder / "docs" / f"{page}.md"
            self.assertEqual(main([page, str(SAMPLE_JSON), "--markdown", str(path), "--facts",
                                   str(facts)]), 0)
            text = path.read_text(encoding="utf-8")
            self.assertTrue(text.startswith(title), text)
            self.assertIn("\nOn a machine.\n", text)

    def test_names_the_file_that_cannot_be_used(self):
        bad = self.folder / "bad.json"
        bad.write_text("{}", encoding="utf-8")
        said = self.complaint("scenarios", str(SAMPLE_JSON), str(bad))
        self.assertIn("bad.json' cannot be used: it is no result", said)

    def test_says_when_a_page_cannot_be_written(self):
        (self.folder / "file").write_text("", encoding="utf-8")
        said = self.complaint("load", str(SAMPLE_JSON), "--markdown",
                              str(self.folder / "file" / "page.md"))
        self.assertIn("report: ", said)
        self.assertIn("file", said)


if __name__ == "__main__":
    unittest.main()
