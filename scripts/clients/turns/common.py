"""What the turns of all libraries share. A library has no program of its own, so a script plays one
turn with it: `X_turn.py URL MODEL FILE QUESTION` goes on with the conversation in FILE, if there is
one, prints the answer and keeps the conversation for the next turn."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# As long as a prompt that somebody works with, and the same as gptel's.
RULES = " ".join(f"Rule {number}: put every stone back where it lay, and count to {number ** 2}."
                 for number in range(1, 121))


@dataclass
class Turn:
    url: str
    model: str
    file: Path
    question: str


def asked() -> Turn:
    url, model, file, question = sys.argv[1:]
    return Turn(url, model, Path(file), question)


def run_command(command: str) -> str:
    """Runs a shell command and gives what it prints.

    Args:
        command: The command to run.
    """
    return subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
