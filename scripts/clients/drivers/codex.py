"""Codex: POST /v1/responses."""

import settings
from driver import Driver

NATIVE = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"

# Behind the settings of the page: a request that fails shall be seen.
NO_RETRIES = """request_max_retries = 0
stream_max_retries = 0
"""


class Codex(Driver):
    name = "Codex"
    package = "codex"
    tool = "exec_command"
    attach = "`-i FILE`"
    picture_tool = "view_image"
    needs = "the native binary; a provider with `wire_api = \"responses\"` in `config.toml`"

    def arguments(self, command):
        return {"cmd": command}

    def prepare(self, place):
        folder = place.home / ".codex"
        folder.mkdir()
        config = settings.filled(settings.block("Codex", "toml"), place)
        (folder / "config.toml").write_text(config + NO_RETRIES)

    def environment(self, place):
        return settings.exported("Codex", place)

    def command(self, place, turn, question, picture=None):
        more = ["resume", "--last"] if turn > 1 else []
        attached = ["-i", str(picture), "--"] if picture else []
        return [str(place.clients / self.package / NATIVE), "exec", *more,
                "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *attached,
                question]
