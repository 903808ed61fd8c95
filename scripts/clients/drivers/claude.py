"""Claude Code: POST /v1/messages."""

import json

import settings
from driver import Driver

NATIVE = "node_modules/@anthropic-ai/claude-code-linux-x64/claude"


class Claude(Driver):
    name = "Claude Code"
    package = "claude"
    tool = "Bash"
    attach = "`@FILE` in the question"
    picture_tool = "Read"
    needs = "the native binary; `ANTHROPIC_BASE_URL`, `ANTHROPIC_AUTH_TOKEN`, `ANTHROPIC_MODEL`"

    def arguments(self, command):
        return {"command": command, "description": "Look under a stone"}

    def prepare(self, place):
        state = {"hasCompletedOnboarding": True,
                 "projects": {str(place.work): {"hasTrustDialogAccepted": True}}}
        (place.home / ".claude.json").write_text(json.dumps(state))

    def environment(self, place):
        return settings.exported("Claude Code", place) | {"DISABLE_AUTOUPDATER": "1"}

    def picture_arguments(self, file):
        return {"file_path": str(file)}

    def command(self, place, turn, question, picture=None):
        more = ["--continue"] if turn > 1 else []
        asked = f"{question} @{picture.name}" if picture else question
        return [str(place.clients / self.package / NATIVE), "-p", asked, *more,
                "--allowedTools", "Bash"]


class ClaudeWithChangingHeader(Claude):
    """The version whose billing header holds another `cch=` in every request."""

    name = "Claude Code (`cch=`)"
    package = "claude-cch"
    needs = "as above; an older version, whose billing header changes with every request"
    notes = (
        "it asks for a title first, without tools. Its first prompt has some 90,000 tokens, "
        "nearly twice the newer version's, because it shows all tools at once."
    )
