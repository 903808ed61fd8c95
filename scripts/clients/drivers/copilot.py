"""GitHub Copilot CLI: POST /v1/chat/completions."""

import settings
from driver import Driver


class Copilot(Driver):
    name = "Copilot CLI"
    package = "copilot"
    tool = "bash"
    needs = "the native binary; `COPILOT_PROVIDER_BASE_URL`, `COPILOT_MODEL`, `COPILOT_OFFLINE`"

    def arguments(self, command):
        return {"command": command, "description": "Look under a stone"}

    def environment(self, place):
        return settings.exported("Copilot CLI", place) | {"COPILOT_AUTO_UPDATE": "false"}

    def command(self, place, turn, question):
        more = ["--continue"] if turn > 1 else []
        program = place.clients / self.package / "node_modules/@github/copilot-linux-x64/copilot"
        return [str(program), *more, "--allow-all-tools", "-p", question]
