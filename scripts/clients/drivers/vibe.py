"""Mistral Vibe: POST /v1/chat/completions."""

from driver import Driver

CONFIG = """active_model = "local"
enable_update_checks = false
enable_auto_update = false
enable_telemetry = false

[[providers]]
name = "local"
api_base = "{url}/v1"
api_key_env_var = "LOCAL_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "{model}"
provider = "local"
alias = "local"
"""


class Vibe(Driver):
    name = "Mistral Vibe"
    package = "vibe"
    tool = "bash"
    needs = "Python 3.12; a provider with `backend = \"generic\"` in `~/.vibe/config.toml`"

    def prepare(self, place):
        folder = place.home / ".vibe"
        folder.mkdir()
        (folder / "config.toml").write_text(CONFIG.format(model=place.model, url=place.url))

    def environment(self, place):
        # It asks the system's keyring for keys that are not set.
        return {"LOCAL_KEY": "x", "MISTRAL_API_KEY": "x"}

    def command(self, place, turn, question):
        more = ["--continue"] if turn > 1 else []
        return [str(place.clients / self.package / "venv/bin/vibe"), "--auto-approve", "--trust",
                *more, "-p", question]
