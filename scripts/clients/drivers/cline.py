"""Cline: POST /v1/chat/completions."""

import subprocess

from driver import Driver


class Cline(Driver):
    name = "Cline"
    package = "cline"
    tool = "run_commands"
    needs = "the native binary; `cline auth -p openai-compatible -b URL`"

    def program(self, place):
        return str(place.clients / self.package / "node_modules/@cline/cli-linux-x64/bin/cline")

    def prepare(self, place):
        environment = {"HOME": str(place.home), "PATH": "/usr/bin:/bin", "TERM": "dumb"}
        subprocess.run([self.program(place), "auth", "-p", "openai-compatible", "-k", "x", "-m",
                        place.model, "-b", place.url + "/v1"], env=environment, cwd=place.work,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)

    def command(self, place, turn, question):
        return [self.program(place), "-P", "openai-compatible", "-m", place.model, "-k", "x",
                question]
