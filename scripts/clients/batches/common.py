"""What the scripts of batches share: `X.py URL MODEL FOLDER` exits with 0 if all is as it should
be, else with a sentence that says what was not."""

import sys

PROMPTS = ["A cairn is", "The sea is", "Stones are"]
TOKENS = 8


def check_as_alone(together: list, ask_one):
    """`together`: the answers to PROMPTS in one request. Each must be what it is to one prompt."""
    alone = [ask_one(prompt) for prompt in PROMPTS]
    if not all(together) or together != alone:
        sys.exit(f"the answers to a list are {together!r}, to one prompt each {alone!r}")
