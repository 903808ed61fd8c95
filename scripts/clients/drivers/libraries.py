"""Libraries for Python. A script in turns/ plays a turn with each."""

from pathlib import Path

from driver import Driver

TURNS = Path(__file__).resolve().parents[1] / "turns"


class Library(Driver):
    tool = "run_command"
    turn = ""  # the script

    def environment(self, place):
        return {"PYTHONDONTWRITEBYTECODE": "1"}

    def command(self, place, turn, question):
        return [str(place.clients / self.package / "venv/bin/python"), str(TURNS / self.turn),
                place.url, place.model, str(place.home / "conversation"), question]


class PydanticAi(Library):
    name = "pydantic-ai"
    package = "pydantic-ai"
    turn = "pydantic_ai_turn.py"
    notes = (
        "the scripts of this library and the next two give it gptel's system prompt and tool, "
        "and keep the conversation in a file."
    )
    needs = "`AnthropicModel` with `AnthropicProvider(base_url=URL, api_key=\"x\")`, without `/v1`"


class Strands(Library):
    name = "Strands"
    package = "strands"
    turn = "strands_turn.py"
    needs = (
        "`AnthropicModel` with `client_args={\"base_url\": URL, \"api_key\": \"x\"}`, without `/v1`"
    )


class Smolagents(Library):
    name = "smolagents"
    package = "smolagents"
    turn = "smolagents_turn.py"
    answer_tool = "final_answer"
    notes = (
        "each of its requests forces a call, and its answers are calls too. It sends calls and "
        "results back as texts of its own."
    )
    needs = "`OpenAIModel(model_id=…, api_base=URL + \"/v1\", api_key=\"x\")`"


class OllamaPython(Library):
    name = "`ollama` for Python"
    package = "ollama-python"
    turn = "ollama_turn.py"
    needs = (
        "`Client(host=URL)`, and a name of `list()`; results of calls go back with `tool_name`, as "
        "its documentation has it"
    )


class LangChainOllama(Library):
    name = "LangChain (`ChatOllama`)"
    package = "langchain-ollama"
    turn = "langchain_ollama_turn.py"
    needs = "`ChatOllama(base_url=URL, model=NAME, reasoning=True)`, with a name of `ollama.list()`"
