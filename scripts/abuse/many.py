"""Requests with very many parts, items or levels, each part small."""

import base64
import hashlib
import json

from abuse.fields import USER, schema_of, tool
from abuse.wire import Aim, Outcome, Scale, ask, repeat, request_bytes
from bench.pictures import picture_part, png_squares

PICTURE = png_squares(64, 64, 8, 1)
ANSWER_LIMIT = {"max_tokens": 1}


def chat(**more) -> dict:
    return {"messages": [USER], **ANSWER_LIMIT, **more}


def content(parts: list) -> dict:
    return chat(messages=[{"role": "user", "content": parts}])


def nested(number: int, opening: str, inner: str, closing: str) -> bytes:
    return (opening * number + inner + closing * number).encode()


def chain_of_rules(number: int) -> str:
    """A grammar in which each rule leads to the next one."""
    rules = "".join(f"r{i} ::= r{i + 1}\n" for i in range(number))
    return f'root ::= r0\n{rules}r{number} ::= "a"\n'


def grown_schema(number: int) -> dict:
    """Each level refers to the next one twice."""
    return {"$defs": {f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2}
                      for i in range(number)} | {f"a{number}": {"type": "null"}},
            "$ref": "#/$defs/a0"}


# Of MANY and DEEP those that are answered: what no grammar holds of a schema is loosened, in
# bounded time.
LOOSENED = {"schemas of an anyOf", "schemas that refer to each other twice",
            "repetitions in a schema", "deep: parentheses of a schema's pattern"}

# What there is very much of, how many, the route, and the body for that number. All others are
# refused.
MANY = [
    ("parts of a message", 300_000, "/v1/chat/completions",
     lambda n: content([{"type": "text", "text": "a"}] * n)),
    ("messages", 100_000, "/v1/chat/completions", lambda n: chat(messages=[USER] * n)),
    ("tools", 50_000, "/v1/chat/completions",
     lambda n: chat(tools=[tool(f"t{i}") for i in range(n)])),
    ("allowed tools and tools", 20_000, "/v1/chat/completions",
     lambda n: chat(tools=[tool(f"t{i}") for i in range(n)], tool_choice={
         "type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
             {"type": "function", "function": {"name": f"t{n - i}"}} for i in range(2 * n)]}})),
    ("pictures", 2_000, "/v1/chat/completions", lambda n: content([picture_part(PICTURE)] * n)),
    ("stop texts", 300_000, "/v1/chat/completions", lambda n: chat(stop=["zq"] * n)),
    ("biases", 300_000, "/v1/chat/completions",
     lambda n: chat(logit_bias=[[i % 200, 1] for i in range(n)])),
    ("breakers of repetitions", 300_000, "/v1/chat/completions",
     lambda n: chat(dry_multiplier=1, dry_sequence_breakers=["ab"] * n)),
    ("answers", 1_000_000_000, "/v1/chat/completions", lambda n: chat(n=n)),
    ("keys of an object", 300_000, "/v1/chat/completions",
     lambda n: chat(metadata={f"k{i}": "" for i in range(n)})),
    ("values of a body", 12_000_000, "/v1/chat/completions", lambda n: chat(x=[0] * n)),
    ("schemas of an anyOf", 100_000, "/v1/chat/completions",
     lambda n: chat(response_format=schema_of({"anyOf": [{"type": "null"}] * n}))),
    ("schemas that refer to each other twice", 200, "/v1/chat/completions",
     lambda n: chat(response_format=schema_of(grown_schema(n)))),
    ("repetitions in a schema", 1_000_000_000, "/v1/chat/completions",
     lambda n: chat(response_format=schema_of(
         {"type": "string", "pattern": "^(a?){" + str(n) + "}$"}))),
    ("rules of a grammar", 200_000, "/completion",
     lambda n: {"prompt": "hi", "n_predict": 1, "grammar": chain_of_rules(n)}),
    ("repetitions in a grammar", 1_000_000_000, "/completion",
     lambda n: {"prompt": "hi", "n_predict": 1, "grammar": 'root ::= ("a"?){%d}' % n}),
    ("tokens of a prompt", 900_000, "/v1/completions",
     lambda n: {"prompt": [5] * n, **ANSWER_LIMIT}),
    ("texts to embed", 300_000, "/v1/embeddings", lambda n: {"input": ["a"] * n}),
    ("documents", 300_000, "/rerank", lambda n: {"query": "a", "documents": ["a"] * n}),
    ("texts around a gap", 300_000, "/infill",
     lambda n: {"input_prefix": "a", "input_suffix": "b", "n_predict": 1,
                "input_extra": [{"filename": "f", "text": "a"}] * n}),
    ("items that are ignored", 150_000, "/v1/responses",
     lambda n: {"input": [{"type": "web_search_call"}] * n + [USER], "max_output_tokens": 1}),
    ("blocks of a message", 300_000, "/v1/messages",
     lambda n: {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * n}],
                **ANSWER_LIMIT}),
]

# Where it is deep, how deep, the route, and the body. All but LOOSENED are refused.
DEEP = [
    ("deep: lists in a body", 500_000, "/v1/chat/completions", lambda n: nested(n, "[", "", "]")),
    ("deep: objects in a body", 500_000, "/v1/chat/completions",
     lambda n: nested(n, '{"a":', "1", "}")),
    ("deep: lists that do not end", 2_000_000, "/v1/chat/completions",
     lambda n: nested(n, "[", "", "")[:n]),
    ("deep: lists in a message", 500_000, "/v1/chat/completions",
     lambda n: b'{"messages":[{"role":"user","content":' + nested(n, "[", "", "]") + b"}]}"),
    ("deep: a tool's parameters", 500_000, "/v1/chat/completions",
     lambda n: _around(chat(tools=[tool(parameters={"type": "object", "x": "@"})]),
                       nested(n, '{"items":', "{}", "}"))),
    ("deep: a schema", 500_000, "/v1/chat/completions",
     lambda n: _around(chat(response_format=schema_of({"x": "@"})),
                       nested(n, '{"items":', "{}", "}"))),
    ("deep: a schema within the depth of JSON", 25, "/v1/chat/completions",
     lambda n: _around(chat(response_format=schema_of({"anyOf": "@"})),
                       nested(n, '[{"type":"array","anyOf":', "[]", "}]"))),
    ("deep: parentheses of a grammar", 500_000, "/completion",
     lambda n: {"prompt": "hi", "n_predict": 1,
                "grammar": "root ::= " + "(" * n + '"a"' + ")" * n}),
    ("deep: parentheses of a schema's pattern", 100_000, "/v1/chat/completions",
     lambda n: chat(response_format=schema_of(
         {"type": "string", "pattern": "^" + "(" * n + "a" + ")" * n + "$"}))),
    ("deep: a tool call's arguments, as text", 500_000, "/v1/chat/completions",
     lambda n: chat(messages=[USER, {"role": "assistant", "content": "", "tool_calls": [
         {"id": "c", "type": "function",
          "function": {"name": "look", "arguments": "[" * n + "]" * n}}]}, USER])),
]


def _around(body: dict, inner: bytes) -> bytes:
    """The body with `inner` in place of the text "@"."""
    return json.dumps(body).encode().replace(b'"@"', inner)


def count_of(number: int, scale: Scale) -> int:
    """As many as the scale has. A limit that is passed by a number alone, or a depth, stays."""
    return number if number <= 1000 or number >= 10**9 else scale.many(number)


def marker_in_cairn(picture: bytes) -> str:
    """The text that stands for a picture in Cairn's prompts; every client can compute it."""
    return f"<__media__{hashlib.sha256(bytes(1) + picture).hexdigest()[:32]}__>"


def play_markers(aim: Aim, scale: Scale) -> Outcome:
    """One picture, and as text very often the marker that stands for it."""
    number = scale.many(200_000)
    text = (aim.marker + marker_in_cairn(PICTURE)) * number
    parts = [picture_part(PICTURE), {"type": "text", "text": text}]
    prompt = {"prompt_string": aim.marker * number,
              "multimodal_data": [base64.b64encode(PICTURE).decode()]}
    return repeat(aim, scale, [
        ("a message", request_bytes(aim, "/v1/chat/completions", content(parts))),
        ("a prompt", request_bytes(aim, "/completion", {"prompt": prompt, "n_predict": 1}))])


def _stored_item(aim: Aim, scale: Scale) -> tuple[str, str]:
    """Stores a response of many items, as many as a request may have. Returns the status, and the
    id of one of them."""
    items = [{"type": "web_search_call"}] * 4_000 + [USER]
    status, stored = ask(aim, "/v1/responses", {"input": items, "max_output_tokens": 1},
                         scale.limit_s)
    output = stored.get("output") or [{}]
    return status, output[0].get("id", "none")


def play_references(number: int):
    """So many references to one stored item."""
    def play(aim: Aim, scale: Scale) -> Outcome:
        status, item = _stored_item(aim, scale)
        references = [{"type": "item_reference", "id": item}] * number
        outcome = repeat(aim, scale, [("references", request_bytes(
            aim, "/v1/responses", {"input": references + [USER], "max_output_tokens": 1}))])
        if not status.startswith("2"):
            outcome.add(status)
        return outcome
    return play


def play_previous_ids(aim: Aim, scale: Scale) -> Outcome:
    """A chain of responses, each of which continues the one before; then ids that nobody stored."""
    outcome, last = Outcome(), None
    for number in range(scale.many(300)):
        body = {"input": str(number), "max_output_tokens": 1, "previous_response_id": last}
        status, stored = ask(aim, "/v1/responses", body, scale.limit_s)
        outcome.add(status)
        last = stored.get("id", last)
    unknown = [("an unknown id", request_bytes(aim, "/v1/responses", {
        "input": "hi", "max_output_tokens": 1, "previous_response_id": f"resp_{number}"}))
        for number in range(scale.many(1_000))]
    outcome.add_all(repeat(aim, scale, unknown))
    return outcome
