"""instructor in all its modes for OpenAI's API. The response model has what its users write: bounds
of a fraction, a pattern beside a length, an optional enum. Where a mode sends the schema, the
answer is an instance of the model at the first try. The other modes ask the model in words, or leave it to
call or not; a made model does not know what was asked, so there only the request is tried."""

import sys
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Literal, Optional

import instructor
import openai
from pydantic import BaseModel, Field

ENFORCED = ["TOOLS", "TOOLS_STRICT", "FUNCTIONS", "JSON_SCHEMA", "RESPONSES_TOOLS"]
ASKED = ["PARALLEL_TOOLS", "JSON", "JSON_O1", "MD_JSON"]
MAX_TOKENS = 20000


class Colour(str, Enum):
    RED = "red"
    GREEN = "green"


class Stone(BaseModel):
    score: Annotated[float, Field(ge=0, le=1)]
    weight: Annotated[int, Field(gt=0, lt=500)]
    kind: Literal["flat", "round", 7]
    colour: Optional[Colour]
    code: Annotated[str, Field(pattern=r"^[A-Z]{2}-\d+$", max_length=8)]
    half: Annotated[float, Field(multiple_of=0.5, ge=-4, le=4)]
    names: Annotated[list[Annotated[str, Field(max_length=5)]], Field(max_length=3)]


class Pile(BaseModel):
    top: Stone
    below: Annotated[list[Stone], Field(max_length=2)]


def ask(mode: str, url: str, model: str, seen: list):
    client = instructor.from_openai(
        openai.OpenAI(base_url=url + "/v1", api_key="x", max_retries=0), mode=instructor.Mode[mode])
    client.on("completion:response", lambda *answer, **_: seen.append(answer))
    limit = "max_output_tokens" if mode == "RESPONSES_TOOLS" else "max_tokens"
    return client.chat.completions.create(
        model=model, response_model=Iterable[Pile] if mode == "PARALLEL_TOOLS" else Pile,
        max_retries=0,
        messages=[{"role": "user", "content": "Describe a pile of stones."}],
        temperature=1, **{limit: MAX_TOKENS})  # at 0 a made model calls again and again


def main():
    url, model, _ = sys.argv[1:]
    for mode in ENFORCED:
        try:
            answer = ask(mode, url, model, [])
        except Exception as error:  # noqa: BLE001: whatever it is, the mode does not work
            sys.exit(f"{mode}: {type(error).__name__}: {str(error)[:200]}")
        if not isinstance(answer, Pile):
            sys.exit(f"{mode}: {answer!r}")
    for mode in ASKED:
        seen = []
        try:
            ask(mode, url, model, seen)
        except Exception as error:  # noqa: BLE001: the answer need not be a pile
            if not seen:
                sys.exit(f"{mode}: {type(error).__name__}: {str(error)[:200]}")


if __name__ == "__main__":
    main()
