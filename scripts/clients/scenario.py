"""What every client is asked: three turns, each with a call of a tool. Only who ran the tool knows
what lies under a stone, and only then the script gives the turn's last answer.

    turn N   "Turn N: look under stone-N.txt"
             -> a call of the client's shell tool that shows stone-N.txt
             <- "amber-N-…", a word nobody could guess
             -> "Under stone N lies the found-N-… ."
"""

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from driver import Driver

TURNS = 3


def command(turn: int) -> str:
    """It takes a moment: of a command that ends at once, Qwen Code sometimes misses the output."""
    return f"cat stone-{turn}.txt; sleep 0.3"


@dataclass
class Scenario:
    folder: Path  # where the client works
    reasons: bool  # answers begin with reasoning, which templates drop once a new question comes
    words: list = field(default_factory=list)
    answers: list = field(default_factory=list)

    def __post_init__(self):
        self.folder.mkdir(parents=True)
        for turn in range(1, TURNS + 1):
            self.words.append(f"amber-{turn}-{secrets.token_hex(8)}")
            self.answers.append(f"found-{turn}-{secrets.token_hex(4)}")
            (self.folder / f"stone-{turn}.txt").write_text(self.words[-1] + "\n")

    def question(self, turn: int) -> str:
        return f"Turn {turn}: look under stone-{turn}.txt and say what lies there."

    def attached(self, turn: int) -> Optional[Path]:
        """The picture that comes with the question, if any."""
        return None

    def rules_of(self, turn: int, driver: Driver) -> list:
        said = f"Under stone {turn} lies the {self.answers[turn - 1]}."
        call = {"name": driver.tool, "arguments": driver.arguments(command(turn))}
        last = {"content": said}
        if driver.answer_tool:
            last = {"call": {"name": driver.answer_tool, "arguments": {"answer": said}}}
        return [{"text": self.words[turn - 1],
                 "answer": self.answer(f"Stone {turn} was turned.", **last)},
                {"text": f"Turn {turn}: look under", "tool": driver.tool,
                 "answer": self.answer(f"I turn stone {turn}.", call=call)}]

    def answer(self, reasoning: str, **what) -> dict:
        return {"reasoning": reasoning, **what} if self.reasons else what

    def write_script(self, path: Path, driver: Driver):
        rules = [rule for turn in range(1, TURNS + 1) for rule in self.rules_of(turn, driver)]
        rules.append({"answer": {"content": "Stones"}})
        path.write_text(json.dumps({"rules": rules}, indent=1))

    def missing(self, turn: int, earlier: list, requests: list) -> list:
        """What the requests of the turn lack, in words. `earlier`: those of the turns before."""
        lacking = []
        if not self.came_back(turn, earlier, requests):
            lacking.append("the tool's result did not come back")
        if turn > 1 and not any(self.answers[turn - 2].encode() in r.body for r in requests):
            lacking.append("the conversation did not go on")
        return lacking

    def came_back(self, turn: int, earlier: list, requests: list) -> bool:
        return any(self.words[turn - 1].encode() in r.body for r in requests)
