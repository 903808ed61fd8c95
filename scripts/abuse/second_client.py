"""The client that is not hostile: it chats while others attack, and times its first tokens. It is a
process of its own, so that no work of the attack's delays its clock."""

import http.client
import itertools
import json
import multiprocessing
import signal
import time
from dataclasses import dataclass

from bench.chat import events_of
from bench.pictures import picture_part, png_squares

PAUSE_S = 0.02
REFUSED_PAUSE_S = 0.1
TOKENS = 4


@dataclass(frozen=True)
class Chat:
    """One answer. `first_ms` is None where there was none, and `status` says why."""
    first_ms: float | None
    status: str
    ended_s: float = 0.0  # on the clock of time.monotonic


def _messages(number: int, picture: bool) -> list:
    text = f"{number}: say hello."
    if not picture:
        return [{"role": "user", "content": text}]
    return [{"role": "user", "content": [{"type": "text", "text": text},
                                         picture_part(png_squares(64, 64, 8, number))]}]


def _first_token_ms(reply, begin: float) -> float | None:
    first_ms = None
    for event in events_of(reply):
        for choice in event.get("choices", []):
            seen = choice.get("delta", {}).get("content") or choice.get("finish_reason")
            if seen and first_ms is None:
                first_ms = (time.monotonic() - begin) * 1000
    return first_ms


def chat(port: int, key: str, number: int, picture: bool, limit_s: float) -> Chat:
    """No prompt is like another, so none is found in a cache."""
    body = json.dumps({"messages": _messages(number, picture), "max_tokens": TOKENS,
                       "temperature": 0, "stream": True})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit_s)
    begin = time.monotonic()
    try:
        connection.request("POST", "/v1/chat/completions", body,
                           {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
        reply = connection.getresponse()
        if reply.status != 200:
            return Chat(None, str(reply.status), time.monotonic())
        first_ms = _first_token_ms(reply, begin)
        return Chat(first_ms, "200" if first_ms is not None else "cut", time.monotonic())
    except TimeoutError:
        return Chat(None, "late", time.monotonic())
    except (OSError, http.client.HTTPException, ValueError):
        return Chat(None, "closed", time.monotonic())
    finally:
        connection.close()


def _run(pipe):
    """Takes (port, key, picture, limit_s) and chats until it gets anything else; then sends what it
    saw. None ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it stops it
    numbers = itertools.count(int(time.time()) % 1_000_000 * 1_000)
    while (order := pipe.recv()) is not None:
        chats = []
        while not chats or not pipe.poll():
            chats.append(chat(*order[:2], next(numbers), *order[2:]))
            time.sleep(PAUSE_S if chats[-1].first_ms is not None else REFUSED_PAUSE_S)
        pipe.recv()
        pipe.send(chats)


class SecondClient:
    """Start it before any thread: it is a copy of this process."""

    def __init__(self):
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(theirs,), daemon=True)
        self._process.start()

    def begin(self, port: int, key: str, picture: bool, limit_s: float):
        self._pipe.send((port, key, picture, limit_s))

    def end(self) -> list[Chat]:
        """Waits for the chat that is under way. There is at least one."""
        self._pipe.send("end")
        return self._pipe.recv()

    def stop(self):
        self._pipe.send(None)
        self._process.join()
