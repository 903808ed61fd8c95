"""OpenHands CLI: POST /v1/chat/completions."""

import settings
from driver import Driver


class OpenHands(Driver):
    name = "OpenHands"
    package = "openhands"
    tool = "terminal"
    needs = ("Python 3.12; `LLM_MODEL=openai/…`, `LLM_BASE_URL`, `LLM_API_KEY`, "
             "`--override-with-envs`")

    def arguments(self, command):
        return {"command": command, "security_risk": "LOW", "summary": "Look under a stone"}

    def environment(self, place):
        # Else LiteLLM asks for prices on the network before each start.
        return settings.exported("OpenHands", place) | {"OPENHANDS_SUPPRESS_BANNER": "1",
                                                        "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

    def command(self, place, turn, question):
        more = ["--resume", "--last"] if turn > 1 else []
        return [str(place.clients / self.package / "venv/bin/openhands"), "--headless",
                "--override-with-envs", *more, "-t", question]
