"""What a driver of a client is. Each file in drivers/ has one."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Place:
    """Where one client runs: nothing of it is shared with another, or with who started the run."""

    home: Path
    work: Path
    url: str  # of the proxy, without a path
    clients: Path  # where the clients are installed
    model: str = "local-model"


class Driver:
    name = ""  # as in the table
    package = ""  # its folder in Place.clients
    needs = ""  # what the documentation says of it
    notes = ""  # why its row is as it is, where that needs a word
    tool = ""  # the one that runs a command
    seconds_max = 600  # of one turn

    def arguments(self, command: str) -> dict:
        return {"command": command}

    def prepare(self, place: Place):
        """Writes the client's settings."""

    def command(self, place: Place, turn: int, question: str) -> list[str]:
        """What is run for a turn; turns after the first go on with the conversation."""
        raise NotImplementedError

    def environment(self, place: Place) -> dict:
        return {}

    def run(self, place: Place, turn: int, question: str) -> subprocess.CompletedProcess:
        environment = {"HOME": str(place.home), "PATH": PATH, "LANG": "C.UTF-8", "TERM": "dumb",
                       "TMPDIR": str(place.home), "NO_PROXY": "127.0.0.1,localhost"}
        environment.update(self.environment(place))
        return subprocess.run(self.command(place, turn, question), cwd=place.work,
                              env=environment, stdin=subprocess.DEVNULL, text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=self.seconds_max, check=False)
