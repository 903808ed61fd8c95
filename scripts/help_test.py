"""Every script says what it is for, and does nothing else, when it is asked for help."""

import subprocess
import unittest
from itertools import takewhile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
# It is run in another system, and its head says how.
ELSEWHERE = {"try_service.sh"}


def head(script: Path) -> str:
    lines = script.read_text().splitlines()[1:]
    return "".join(f"{line[2:]}\n" for line in takewhile(lambda line: line.startswith("#"), lines))


class HelpTest(unittest.TestCase):
    def test_is_the_head_of_the_script(self):
        scripts = [script for script in SCRIPTS.rglob("*.sh")
                   if script.stat().st_mode & 0o100 and script.name not in ELSEWHERE]
        self.assertGreater(len(scripts), 25)
        for script in sorted(scripts):
            with self.subTest(script.name):
                for flag in ("--help", "-h"):
                    asked = subprocess.run([script, flag], capture_output=True, text=True,
                                           timeout=60, cwd="/", check=False)
                    self.assertEqual((asked.returncode, asked.stderr), (0, ""))
                    self.assertEqual(asked.stdout, head(script))

    def test_is_found_from_another_folder(self):
        asked = subprocess.run(["./lint.sh", "--help"], capture_output=True, text=True, timeout=60,
                               cwd=SCRIPTS, check=False)
        self.assertEqual(asked.stdout, head(SCRIPTS / "lint.sh"))

    def test_an_argument_that_nobody_knows_is_refused(self):
        for script in ("lint.sh", "format.sh"):
            asked = subprocess.run([SCRIPTS / script, "--nothing"], capture_output=True, text=True,
                                   timeout=60, check=False)
            self.assertEqual(asked.returncode, 1)
            self.assertIn("unknown argument --nothing", asked.stderr)


if __name__ == "__main__":
    unittest.main()
