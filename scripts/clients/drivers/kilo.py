"""Kilo Code CLI: POST /v1/chat/completions. It takes OpenCode's settings."""

from drivers.opencode import OpenCode


class Kilo(OpenCode):
    name = "Kilo"
    package = "kilo"
    attach = ""
    picture_tool = ""
    needs = "the native binary; OpenCode's settings in `~/.config/kilo/opencode.json`"
    notes = (
        "as OpenCode, it asks for a title; that request shares nothing with the others and counts "
        "as prefilled in full."
    )
    folder = "kilo"

    def environment(self, place):
        return {"KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_MODELS_FETCH": "1"}

    def command(self, place, turn, question):
        more = ["--continue"] if turn > 1 else []
        program = place.clients / self.package / "node_modules/@kilocode/cli-linux-x64/bin/kilo"
        return [str(program), "run", *more, question]
