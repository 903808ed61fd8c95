"""Cline: POST /v1/chat/completions. It goes on with a conversation only in a terminal, so its later
turns run in one that nobody looks at."""

import json
import os
import pty
import re
import select
import subprocess
import time

from driver import PATH, Driver

CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07")


class Cline(Driver):
    name = "Cline"
    package = "cline"
    tool = "run_commands"
    needs = "the native binary; `cline auth -p openai-compatible -b URL`; `--id` in a terminal"
    notes = (
        "the driver types each turn after the first into its terminal interface."
    )

    def arguments(self, command):
        return {"commands": [command]}

    def program(self, place):
        return str(place.clients / self.package / "node_modules/@cline/cli-linux-x64/bin/cline")

    def environment(self, place):
        return {"HOME": str(place.home), "PATH": PATH, "TERM": "xterm", "LANG": "C.UTF-8",
                "COLUMNS": "200", "LINES": "60"}

    def ask_cline(self, place, *arguments):
        return subprocess.run([self.program(place), *arguments], env=self.environment(place),
                              cwd=place.work, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, check=False).stdout

    def prepare(self, place):
        self.ask_cline(place, "auth", "-p", "openai-compatible", "-k", "x", "-m", place.model,
                       "-b", place.url + "/v1")

    def command(self, place, turn, question):
        more = []
        if turn > 1:
            sessions = json.loads(self.ask_cline(place, "history", "--json"))
            more = ["--id", sessions[0]["sessionId"], "--auto-approve", "true"]
        return [self.program(place), "-P", "openai-compatible", "-m", place.model, "-k", "x",
                *(more or [question])]

    def run(self, place, turn, question, picture=None):
        if turn == 1:
            return super().run(place, turn, question)
        outside, inside = pty.openpty()
        client = subprocess.Popen(self.command(place, turn, question), cwd=place.work,
                                  env=self.environment(place), stdin=inside, stdout=inside,
                                  stderr=inside, start_new_session=True)
        os.close(inside)
        try:
            output = self.talk(outside, client, question, f"found-{turn}-")
        finally:
            code = self.leave(outside, client)
        return subprocess.CompletedProcess([], code, CONTROL.sub("", output))

    def talk(self, terminal, client, question, answer):
        """Types the question once the old conversation is there. What it shows, until the answer
        has been there for a while."""
        output, typed, seen = "", 0, False
        began = time.monotonic()
        until = began + 120
        while time.monotonic() < until and client.poll() is None:
            if select.select([terminal], [], [], 0.5)[0]:
                try:
                    output += os.read(terminal, 65536).decode(errors="replace")
                except OSError:
                    break
            due = began + 12 + 2 * typed
            if typed < 2 and time.monotonic() > due:
                os.write(terminal, (question.encode(), b"\r")[typed])
                typed += 1
            if not seen and answer in output:
                seen, until = True, time.monotonic() + 4
        return output

    def leave(self, terminal, client):
        """As a person does: Ctrl-C until it is gone."""
        for _ in range(6):
            if client.poll() is not None:
                break
            os.write(terminal, b"\x03")
            time.sleep(1)
        os.close(terminal)
        if client.poll() is None:
            client.terminate()
            client.wait(30)
            return 0  # it is asked to go on, not to end
        return client.returncode if client.returncode not in (130, -2) else 0
