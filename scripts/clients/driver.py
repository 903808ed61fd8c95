"""What a driver of a client is. The files in drivers/ have them."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Place:
    """Where one client runs: nothing of it is shared with another, or with who started the run."""

    home: Path
    work: Path
    url: str  # of the proxy, without a path
    clients: Path  # where the clients are installed
    model: str = "local-model"
    second_model: str = "other-model"  # where the server has two
    pictures: bool = False  # the model takes pictures, and the client's settings may say so


class Driver:
    name = ""  # as in the table
    package = ""  # its folder in Place.clients
    needs = ""  # what the documentation says of it
    notes = ""  # why its row is as it is, where that needs a word
    tool = ""  # the one that runs a command
    answer_tool = ""  # the one whose call is the last answer; empty: a text is
    attach = ""  # how a picture is put beside a question, as the page says it; empty: not at all
    picture_tool = ""  # the one that shows the model the picture in a file; empty: it has none
    seconds_max = 600  # of one turn

    def arguments(self, command: str) -> dict:
        return {"command": command}

    def picture_arguments(self, file: Path) -> dict:
        return {"path": str(file)}

    def prepare(self, place: Place):
        """Writes the client's settings."""

    def command(self, place: Place, turn: int, question: str,
                picture: Optional[Path] = None) -> list[str]:
        """What is run for a turn; turns after the first go on with the conversation. A picture
        comes only to a client that has a way to attach it."""
        raise NotImplementedError

    def environment(self, place: Place) -> dict:
        return {}

    def run(self, place: Place, turn: int, question: str,
            picture: Optional[Path] = None) -> subprocess.CompletedProcess:
        environment = {"HOME": str(place.home), "PATH": PATH, "LANG": "C.UTF-8", "TERM": "dumb",
                       "TMPDIR": str(place.home), "NO_PROXY": "127.0.0.1,localhost"}
        environment.update(self.environment(place))
        command = (self.command(place, turn, question, picture) if picture
                   else self.command(place, turn, question))
        return subprocess.run(command, cwd=place.work, env=environment,
                              stdin=subprocess.DEVNULL, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=self.seconds_max, check=False)
