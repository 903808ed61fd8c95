"""Three turns with pictures.

    turn 1   "Turn 1: look at picture-1.png", with the picture as the client attaches one
             -> "Picture 1 shows the found-1-… ."
    turn 2   "Turn 2: look at picture-2.png"
             -> a call of the client's tool that shows pictures
             <- the picture
             -> "Picture 2 shows the found-2-… ."
    turn 3   a turn of scenario.py, with both pictures in its history

A client that has one of the two ways alone plays a turn of scenario.py in place of the other. The
answers have no reasoning, which a template would drop in front of a picture.
"""

from dataclasses import dataclass, field
from pathlib import Path

from bench.pictures import png_squares
from driver import Driver
from scenario import TURNS, Scenario

# Of install.PACKAGES, those that put pictures into their requests; on the made model with a made
# projector.
CLIENTS = ("claude", "codex", "opencode", "pi")

PICTURE = (384, 288, 8)  # width, height, and the side of its squares of one colour
# Every picture of a conversation is a text that begins so, where the script reads it.
MARKER = "<__media__"


@dataclass
class PictureScenario(Scenario):
    driver: Driver = field(kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        for turn in range(1, TURNS + 1):
            if self.way(turn):
                self.picture(turn).write_bytes(png_squares(*PICTURE, turn))

    def way(self, turn: int) -> str:
        """How the turn's picture gets into the conversation; empty if the turn has none."""
        if turn == 1 and self.driver.attach:
            return "attached"
        return "tool" if turn == 2 and self.driver.picture_tool else ""

    def picture(self, turn: int) -> Path:
        return self.folder / f"picture-{turn}.png"

    def question(self, turn: int) -> str:
        if not self.way(turn):
            return super().question(turn)
        return f"Turn {turn}: look at picture-{turn}.png and say what it shows."

    def attached(self, turn: int):
        return self.picture(turn) if self.way(turn) == "attached" else None

    def rules_of(self, turn: int, driver: Driver) -> list:
        if not self.way(turn):
            return super().rules_of(turn, driver)
        said = {"content": f"Picture {turn} shows the {self.answers[turn - 1]}."}
        asked = f"Turn {turn}: look at"
        if self.way(turn) == "attached":
            return [{"text": asked, "tool": driver.tool, "answer": said}]
        call = {"name": driver.picture_tool,
                "arguments": driver.picture_arguments(self.picture(turn))}
        return [{"text": asked, "tool": driver.picture_tool, "answer": {"call": call}},
                {"text": MARKER, "tool": driver.tool, "answer": said}]

    def came_back(self, turn: int, earlier: list, requests: list) -> bool:
        """A picture that no turn before had is in a request."""
        if not self.way(turn):
            return super().came_back(turn, earlier, requests)
        known = {picture for request in earlier for picture in request.pictures}
        return any(set(request.pictures) - known for request in requests)


def key_of(client: str) -> str:
    return f"{client}-pictures"
