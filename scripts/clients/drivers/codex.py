"""Codex: POST /v1/responses."""

from driver import Driver

NATIVE = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"

CONFIG = """model = "{model}"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 600000
"""


class Codex(Driver):
    name = "Codex"
    package = "codex"
    tool = "exec_command"
    needs = "the native binary; a provider with `wire_api = \"responses\"` in `config.toml`"

    def arguments(self, command):
        return {"cmd": command}

    def prepare(self, place):
        folder = place.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(CONFIG.format(model=place.model, url=place.url))

    def environment(self, place):
        return {"LOCAL_KEY": "x"}

    def command(self, place, turn, question):
        more = ["resume", "--last"] if turn > 1 else []
        return [str(place.clients / self.package / NATIVE), "exec", *more,
                "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", question]
