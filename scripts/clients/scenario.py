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

    def rules(self, tool: str, arguments) -> dict:
        """`arguments` makes a tool's arguments from the command that it shall run."""
        rules = []
        for turn in range(1, TURNS + 1):
            said = f"Under stone {turn} lies the {self.answers[turn - 1]}."
            rules.append({"text": self.words[turn - 1],
                          "answer": self.answer(f"Stone {turn} was turned.", content=said)})
            call = {"name": tool, "arguments": arguments(command(turn))}
            rules.append({"text": f"Turn {turn}: look under", "tool": tool,
                          "answer": self.answer(f"I turn stone {turn}.", call=call)})
        rules.append({"answer": {"content": "Stones"}})
        return {"rules": rules}

    def answer(self, reasoning: str, **what) -> dict:
        return {"reasoning": reasoning, **what} if self.reasons else what

    def write_script(self, path: Path, tool: str, arguments):
        path.write_text(json.dumps(self.rules(tool, arguments), indent=1))
