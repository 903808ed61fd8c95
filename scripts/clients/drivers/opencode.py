"""OpenCode: POST /v1/chat/completions."""

import json

import settings
from driver import Driver


class OpenCode(Driver):
    name = "OpenCode"
    package = "opencode"
    tool = "bash"
    attach = "`-f FILE`"
    picture_tool = "read"
    folder = "opencode"  # under ~/.config
    needs = "the native binary; a provider `@ai-sdk/openai-compatible` in `opencode.json`"
    notes = (
        "its first request asks for a title and shares nothing with the others; it counts as "
        "prefilled in full."
    )

    def arguments(self, command):
        return {"command": command, "description": "Look under a stone"}

    def prepare(self, place):
        config = json.loads(settings.filled(settings.block("OpenCode", "json"), place))
        config["autoupdate"] = False
        if place.pictures:
            model = config["provider"]["local"]["models"][place.model]
            model |= {"attachment": True, "modalities": {"input": ["text", "image"],
                                                         "output": ["text"]}}
        folder = place.home / ".config" / self.folder
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(config))

    def environment(self, place):
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def picture_arguments(self, file):
        return {"filePath": str(file)}

    def command(self, place, turn, question, picture=None):
        more = ["--continue"] if turn > 1 else []
        attached = ["-f", str(picture)] if picture else []
        program = place.clients / self.package / "node_modules/opencode-linux-x64/bin/opencode"
        return [str(program), "run", *more, question, *attached]


class OpenCodeWithTwoModels(OpenCode):
    """Asks another model in the second turn, and the first one again in the third."""

    name = "OpenCode (two models)"
    notes = (
        "the second turn asks the other model, of which one is loaded at a time; the third turn's "
        "prompt is brought back from the disk."
    )

    def prepare(self, place):
        super().prepare(place)
        file = place.home / ".config" / "opencode" / "opencode.json"
        config = json.loads(file.read_text())
        models = config["provider"]["local"]["models"]
        models[place.second_model] = models[place.model]
        file.write_text(json.dumps(config))

    def command(self, place, turn, question, picture=None):
        program, run, *rest = super().command(place, turn, question, picture)
        model = place.second_model if turn == 2 else place.model
        return [program, run, "--model", f"local/{model}", *rest]
