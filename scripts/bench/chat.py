"""Chats with a server, as its clients have them: streams and their first tokens, and conversations.
"""

import http.client
import json
import time
from dataclasses import dataclass, field

from bench.servers import REQUEST_S, Server
from bench.settings import fail


def events_of(reply):
    """The objects of a stream of server-sent events, as they come."""
    for line in reply:
        if line.startswith(b"data: {"):
            yield json.loads(line[len(b"data: "):])


def streamed(server: Server, body: dict):
    """The events of an answer, as they come. It fails when the server refuses or breaks off."""
    who = server.log_path.stem
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=REQUEST_S)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body),
                           {"Content-Type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            fail(f"{who} answered {reply.status}: {reply.read()[:400].decode()}")
        for event in events_of(reply):
            if "error" in event:
                fail(f"{who} broke an answer off: {event['error']}")
            yield event
    except (OSError, http.client.HTTPException) as error:
        fail(f"{who} gave no whole answer: {error!r}")
    finally:
        connection.close()


def pieces_of(event: dict):
    """The texts of an event, each with its name in a message."""
    for choice in event.get("choices") or []:
        for name in ("content", "reasoning_content"):
            if piece := (choice.get("delta") or {}).get(name):
                yield name, piece


def streaming(messages: list, tokens: int, **more) -> dict:
    """The body of a request for a stream of at most so many tokens."""
    return {"messages": messages, "max_tokens": tokens, "temperature": 0, "cache_prompt": True,
            "stream": True, "stream_options": {"include_usage": True}, **more}


@dataclass
class Answer:
    """A stream, read to its end: the message, the time to its first text, the server's counts."""
    message: dict = field(default_factory=dict)
    first_token_ms: float = 0.0
    usage: dict = field(default_factory=dict)
    timings: dict = field(default_factory=dict)


def answer_of(server: Server, body: dict) -> Answer:
    """Reads a stream to its end, or fails."""
    answer, begin = Answer(), time.monotonic()
    for event in streamed(server, body):
        for name, piece in pieces_of(event):
            answer.first_token_ms = answer.first_token_ms or (time.monotonic() - begin) * 1000
            answer.message[name] = answer.message.get(name, "") + piece
        answer.usage = event.get("usage") or answer.usage
        answer.timings = event.get("timings") or answer.timings
    if not answer.message or not answer.usage or not answer.timings:
        fail(f"{server.log_path.stem} ended an answer before its end")
    return answer


def prompt(tokens: int, seed: int) -> str:
    """Text of about so many bytes, which are the tokens of a made model."""
    words = [f"{(i * 2654435761 + seed * 40503) % 9973:04d}" for i in range(tokens // 5)]
    return " ".join(words)


class Conversation:
    """A conversation as its client has it: a long first turn and short ones after it. Times are
    those of a whole request for one token."""

    def __init__(self, tokens: int, seed: int):
        self._messages = [{"role": "system", "content": prompt(tokens, seed)},
                          {"role": "user", "content": "What does it say?"}]

    def begin(self, server: Server):
        """Milliseconds of the first turn, and the tokens prefilled; then the whole answer."""
        found = self._ask(server, 1)[:2]
        self.answer(server)
        return found

    def answer(self, server: Server):
        reply = self._ask(server, 24)[2]
        self._messages += [reply["choices"][0]["message"],
                           {"role": "user", "content": "And what does that mean, in short?"}]

    def go_on(self, server: Server):
        """Milliseconds of the next turn, and the tokens that it prefilled."""
        return self._ask(server, 1)[:2]

    def _ask(self, server: Server, tokens_max: int):
        begin = time.monotonic()
        reply = server.post("/v1/chat/completions",
                            {"messages": self._messages, "max_tokens": tokens_max,
                             "temperature": 0, "cache_prompt": True})
        return (time.monotonic() - begin) * 1000, reply["timings"]["prompt_n"], reply
