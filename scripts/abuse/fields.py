"""A very long text in every field of every API, one field a request."""

from dataclasses import dataclass
from typing import Callable

COUNTED_BYTES = 4 << 20  # so long a text may be that is only counted

ALWAYS = "always"  # it is refused
LONG = "long"  # it is refused where it is longer than COUNTED_BYTES
# It is ignored, cut to size, or a part of a schema: loosened where no grammar holds it.
NEVER = "never"


@dataclass(frozen=True)
class Field:
    route: str
    name: str
    body: Callable[[str], dict]
    refused: str = ALWAYS

    @property
    def title(self) -> str:
        return f"`{self.route}`: {self.name}"

    def is_refused(self, text_bytes: int) -> bool:
        return self.refused == ALWAYS or (self.refused == LONG and text_bytes > COUNTED_BYTES)


USER = {"role": "user", "content": "hi"}


def tool(name="look", description="", parameters=None) -> dict:
    return {"type": "function", "function": {"name": name, "description": description,
                                             "parameters": parameters or {"type": "object"}}}


def call(name="look", arguments="{}", call_id="c1") -> list:
    return [{"role": "assistant", "content": "", "tool_calls": [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}]}]


def base64_of(text: str) -> str:
    """Valid base64 as long as the text, of no picture."""
    return "A" * (len(text) // 4 * 4)


def image(url: str) -> dict:
    return {"type": "image_url", "image_url": {"url": url}}


def schema_of(schema: dict) -> dict:
    return {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}


# Name of the field, the messages with it, and when it is refused.
MESSAGES = [
    ("user text", lambda t: [{"role": "user", "content": t}], ALWAYS),
    ("text of a part", lambda t: [{"role": "user", "content": [{"type": "text", "text": t}]}],
     ALWAYS),
    ("system text", lambda t: [{"role": "system", "content": t}, USER], ALWAYS),
    ("developer text", lambda t: [{"role": "developer", "content": t}, USER], ALWAYS),
    ("assistant text", lambda t: [USER, {"role": "assistant", "content": t}, USER], ALWAYS),
    ("reasoning", lambda t: [USER, {"role": "assistant", "content": "a", "reasoning_content": t}],
     ALWAYS),
    ("tool result", lambda t: [USER, *call(), {"role": "tool", "tool_call_id": "c1", "content": t}],
     ALWAYS),
    ("tool call's arguments", lambda t: [USER, *call(arguments='{"a":"' + t + '"}'), USER],
     ALWAYS),
    ("tool call's name", lambda t: [USER, *call(name=t), USER], ALWAYS),
    ("tool call's id", lambda t: [USER, *call(call_id=t), USER], NEVER),
    ("name of a message", lambda t: [{**USER, "name": t}], NEVER),
    ("role", lambda t: [{"role": t, "content": "hi"}], ALWAYS),
    ("type of a part", lambda t: [{"role": "user", "content": [{"type": t, "text": "hi"}]}],
     ALWAYS),
    ("URL of a picture", lambda t: [{"role": "user", "content": [image(t)]}], ALWAYS),
    ("base64 of a picture",
     lambda t: [{"role": "user", "content": [image("data:image/png;base64," + base64_of(t))]}],
     ALWAYS),
]

# Fields beside the messages of chat completions.
BESIDE_MESSAGES = [
    ("tool's name", lambda t: {"tools": [tool(name=t)]}, ALWAYS),
    ("tool's description", lambda t: {"tools": [tool(description=t)]}, ALWAYS),
    ("tool's parameters", lambda t: {"tools": [tool(parameters={
        "type": "object", "properties": {"a": {"type": "string", "description": t}}})]}, ALWAYS),
    ("tool_choice", lambda t: {"tools": [tool()], "tool_choice": {
        "type": "function", "function": {"name": t}}}, ALWAYS),
    ("chat_template_kwargs", lambda t: {"chat_template_kwargs": {"a": t}}, NEVER),
    ("reasoning_effort", lambda t: {"reasoning_effort": t}, ALWAYS),
]

# Fields of every request that generates text.
GENERATION = [
    ("stop", lambda t: {"stop": t}, ALWAYS),
    ("grammar", lambda t: {"grammar": 'root ::= "' + t + '"'}, ALWAYS),
    ("json_schema", lambda t: {"json_schema": {"type": "string", "enum": [t]}}, NEVER),
    ("response_format, description",
     lambda t: {"response_format": schema_of({"type": "string", "description": t})}, NEVER),
    ("response_format, pattern",
     lambda t: {"response_format": schema_of({"type": "string", "pattern": "^" + t + "$"})},
     NEVER),
    ("response_format, enum",
     lambda t: {"response_format": schema_of({"type": "string", "enum": [t]})}, NEVER),
    ("response_format, property's name",
     lambda t: {"response_format": schema_of({"type": "object", "properties": {t: {}},
                                              "required": [t]})}, NEVER),
    ("response_format, type", lambda t: {"response_format": {"type": t}}, ALWAYS),
    ("logit_bias, token", lambda t: {"logit_bias": {t: 1}}, ALWAYS),
    ("samplers", lambda t: {"samplers": [t]}, ALWAYS),
    ("dry_sequence_breakers", lambda t: {"dry_sequence_breakers": [t]}, ALWAYS),
    ("model", lambda t: {"model": t}, NEVER),
    ("user", lambda t: {"user": t}, NEVER),
]

RESPONSES = [
    ("input", lambda t: {"input": t}, ALWAYS),
    ("text of a part", lambda t: {"input": [
        {"role": "user", "content": [{"type": "input_text", "text": t}]}]}, ALWAYS),
    ("instructions", lambda t: {"input": "hi", "instructions": t}, ALWAYS),
    ("call's arguments", lambda t: {"input": [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "c", "name": "look",
         "arguments": '{"a":"' + t + '"}'}]}, ALWAYS),
    ("call's name", lambda t: {"input": [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "c", "name": t, "arguments": "{}"}]}, ALWAYS),
    ("call's output", lambda t: {"input": [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": t}]}, ALWAYS),
    ("reasoning", lambda t: {"input": [
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": t}]}]}, ALWAYS),
    ("tool's description", lambda t: {"input": "hi", "tools": [
        {"type": "function", "name": "look", "description": t, "parameters": {}}]}, ALWAYS),
    ("text.format", lambda t: {"input": "hi", "text": {"format": {
        "type": "json_schema", "name": "s", "schema": {"type": "string", "enum": [t]}}}}, NEVER),
    ("previous_response_id", lambda t: {"input": "hi", "previous_response_id": t}, ALWAYS),
    ("id of an item_reference", lambda t: {"input": [{"type": "item_reference", "id": t}]}, ALWAYS),
    ("type of an item", lambda t: {"input": [{"type": t}, {"role": "user", "content": "hi"}]},
     NEVER),
    ("metadata", lambda t: {"input": "hi", "metadata": {"a": t}}, ALWAYS),
    ("prompt_cache_key", lambda t: {"input": "hi", "prompt_cache_key": t}, NEVER),
]

ANTHROPIC = [
    ("system", lambda t: {"system": t}, ALWAYS),
    ("text of a system block", lambda t: {"system": [{"type": "text", "text": t}]}, ALWAYS),
    ("user text", lambda t: {"messages": [{"role": "user", "content": t}]}, ALWAYS),
    ("text of a block", lambda t: {"messages": [
        {"role": "user", "content": [{"type": "text", "text": t}]}]}, ALWAYS),
    ("tool_use input", lambda t: {"messages": [USER, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "look", "input": {"a": t}}]}, USER]}, ALWAYS),
    ("tool_result", lambda t: {"messages": [USER, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": t}]}]}, ALWAYS),
    ("thinking", lambda t: {"messages": [USER, {"role": "assistant", "content": [
        {"type": "thinking", "thinking": t, "signature": ""}, {"type": "text", "text": "a"}]}]},
     ALWAYS),
    ("tool's description", lambda t: {"tools": [
        {"name": "look", "description": t, "input_schema": {"type": "object"}}]}, ALWAYS),
    ("base64 of a picture", lambda t: {"messages": [{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                     "data": base64_of(t)}}]}]},
     ALWAYS),
]

INFILL = {"input_prefix": "a", "input_suffix": "b", "n_predict": 1}

# The model's name is that of its file (run.py).
OLLAMA = {"model": "qwen3.gguf", "options": {"num_predict": 1}}

OTHERS = [
    Field("/v1/completions", "prompt", lambda t: {"prompt": t, "max_tokens": 1}),
    Field("/v1/completions", "text among tokens", lambda t: {"prompt": [5, t], "max_tokens": 1}),
    Field("/completion", "prompt", lambda t: {"prompt": t, "n_predict": 1}),
    Field("/completion", "prompt_string",
          lambda t: {"prompt": {"prompt_string": t}, "n_predict": 1}),
    Field("/completion", "multimodal_data",
          lambda t: {"prompt": {"prompt_string": "<__media__>", "multimodal_data": [base64_of(t)]},
                     "n_predict": 1}),
    Field("/v1/messages", "stop_sequences",
          lambda t: {"messages": [USER], "max_tokens": 1, "stop_sequences": [t]}),
    Field("/v1/embeddings", "input", lambda t: {"input": t}),
    Field("/api/chat", "user text",
          lambda t: {**OLLAMA, "messages": [{"role": "user", "content": t}]}),
    Field("/api/chat", "thinking",
          lambda t: {**OLLAMA,
                     "messages": [USER, {"role": "assistant", "content": "a", "thinking": t},
                                  USER]}, LONG),  # of an earlier turn: not shown, only counted
    Field("/api/generate", "prompt", lambda t: {**OLLAMA, "prompt": t}),
    Field("/api/generate", "system", lambda t: {**OLLAMA, "prompt": "a", "system": t}),
    Field("/api/generate", "raw prompt", lambda t: {**OLLAMA, "prompt": t, "raw": True}),
    Field("/api/embed", "input", lambda t: {**OLLAMA, "input": t, "truncate": False}),
    Field("/api/embeddings", "prompt", lambda t: {**OLLAMA, "prompt": t}),
    Field("/rerank", "query", lambda t: {"query": t, "documents": ["a"]}),
    Field("/rerank", "document", lambda t: {"query": "a", "documents": [t]}),
    Field("/rerank", "text", lambda t: {"query": "a", "texts": [t]}),
    Field("/tokenize", "content", lambda t: {"content": t}, LONG),
    Field("/tokenize", "content, with_pieces", lambda t: {"content": t, "with_pieces": True}, LONG),
    Field("/detokenize", "text among tokens", lambda t: {"tokens": [t]}),
    Field("/infill", "input_prefix", lambda t: {**INFILL, "input_prefix": t}, LONG),
    Field("/infill", "input_suffix", lambda t: {**INFILL, "input_suffix": t}, LONG),
    Field("/infill", "prompt", lambda t: {**INFILL, "prompt": t}),
    Field("/infill", "text of input_extra",
          lambda t: {**INFILL, "input_extra": [{"filename": "a", "text": t}]}, LONG),
    Field("/infill", "filename of input_extra",
          lambda t: {**INFILL, "input_extra": [{"filename": t, "text": "a"}]}, LONG),
    Field("/slots/0?action=save", "filename", lambda t: {"filename": t}),
    Field("/slots/0?action=restore", "filename", lambda t: {"filename": t}),
    Field("/cairn/cache/prefetch", "prompt", lambda t: {"prompt": t}),
    Field("/cairn/cache/prefetch", "user text",
          lambda t: {"messages": [{"role": "user", "content": t}]}),
]

# Routes that read the bodies above, and answer nothing of a model's.
COUNTING = {
    "/v1/chat/completions/input_tokens": MESSAGES[:3],
    "/v1/chat/completions/render": MESSAGES[:3],
    "/apply-template": MESSAGES[:3],
}


def _with(extra: dict, build: Callable) -> Callable[[str], dict]:
    return lambda t: {**extra, **build(t)}


def _messages(extra: dict, build: Callable) -> Callable[[str], dict]:
    return lambda t: {**extra, "messages": build(t)}


def all_fields() -> list[Field]:
    chat = {"messages": [USER], "max_tokens": 1}
    found = [Field("/v1/chat/completions", name, _messages(chat, build), refused)
             for name, build, refused in MESSAGES]
    found += [Field("/v1/chat/completions", name, _with(chat, build), refused)
              for name, build, refused in BESIDE_MESSAGES + GENERATION]
    found += [Field("/completion", name, _with({"prompt": "hi", "n_predict": 1}, build), refused)
              for name, build, refused in GENERATION[:4]]
    found += [Field("/v1/responses", name, _with({"max_output_tokens": 1}, build), refused)
              for name, build, refused in RESPONSES]
    found += [Field("/v1/messages", name, _with({"messages": [USER], "max_tokens": 1}, build),
                    refused) for name, build, refused in ANTHROPIC]
    for route, fields in COUNTING.items():
        rendered = ALWAYS if route.endswith("/render") else LONG
        found += [Field(route, name, _messages({}, build), rendered)
                  for name, build, _ in fields]
    found += [Field("/v1/messages/count_tokens", name, _with({"messages": [USER]}, build), LONG)
              for name, build, _ in ANTHROPIC[:3]]
    found += [Field("/v1/responses/input_tokens", name, build, LONG)
              for name, build, _ in RESPONSES[:3]]
    found += [Field("/v1/responses/render", *RESPONSES[0][:2]),
              Field("/v1/messages/render", ANTHROPIC[0][0],
                    _with({"messages": [USER], "max_tokens": 1}, ANTHROPIC[0][1])),
              Field("/v1/completions/render", "prompt", lambda t: {"prompt": t})]
    return found + OTHERS
