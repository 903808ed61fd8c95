"""Attacks by connections: slow, silent, abandoned, or never read."""

import threading
import time

from abuse.wire import (CLOSED, LEFT, Aim, Crowd, Outcome, Scale, at_once, connect, hold,
                        request_bytes,
                  reset)

SLOW_BODY_BYTES = 5_000
STREAM_TOKENS = 3_000


def stream_request(aim: Aim, tokens: int = STREAM_TOKENS) -> bytes:
    return request_bytes(aim, "/v1/chat/completions", {
        "messages": [{"role": "user", "content": "count"}], "max_tokens": tokens, "stream": True,
        "ignore_eos": True})


def play_slow_headers(aim: Aim, scale: Scale) -> Outcome:
    crowd = Crowd(aim.port, scale.connections, b"POST /v1/chat/completions HTTP/1.1\r\nX-Slow: ")

    def drop_by_drop(crowd: Crowd):
        crowd.send(b"a")
        crowd.read(4096)
    return hold(crowd, scale, drop_by_drop)


def play_slow_bodies(aim: Aim, scale: Scale) -> Outcome:
    head = (f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {aim.key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {SLOW_BODY_BYTES}\r\n\r\n{{")
    crowd = Crowd(aim.port, scale.connections, head.encode())

    def drop_by_drop(crowd: Crowd):
        crowd.send(b" ")
        crowd.read(4096)
    return hold(crowd, scale, drop_by_drop)


def play_silence(aim: Aim, scale: Scale) -> Outcome:
    """Connections that send nothing."""
    crowd = Crowd(aim.port, 4 * scale.connections, b"")
    return hold(crowd, scale, lambda crowd: crowd.read(4096))


def play_slow_readers(aim: Aim, scale: Scale) -> Outcome:
    """Streams of which a byte is read now and then."""
    crowd = Crowd(aim.port, scale.connections, stream_request(aim), receive_bytes=1024)
    crowd.read(64)
    return hold(crowd, scale, lambda crowd: crowd.read(1))


def play_half_open(aim: Aim, scale: Scale) -> Outcome:
    """Streams whose client has closed its side and reads nothing."""
    crowd = Crowd(aim.port, scale.connections, stream_request(aim), receive_bytes=1024)
    for link in crowd.links():
        try:
            link.shutdown(1)
        except OSError:
            pass  # it is closed already, which the end of the attack counts
    return hold(crowd, scale, lambda crowd: None)


def play_abandoned(aim: Aim, scale: Scale) -> Outcome:
    """Streams that are left after their first bytes, by several clients at once, all the time."""
    outcome, lock, data = Outcome(), threading.Lock(), stream_request(aim)
    end = time.monotonic() + scale.hold_s

    def leave_streams():
        while time.monotonic() < end:
            status = LEFT
            try:
                link = connect(aim.port)
                link.sendall(data)
                answer = link.recv(256)
                if not answer.startswith(b"HTTP/1.1 200"):
                    status = answer.split(b" ")[1].decode() if b" " in answer else CLOSED
                reset(link)
            except OSError:
                status = CLOSED
            with lock:
                outcome.add(status)

    at_once(scale.senders, lambda number: leave_streams())
    return outcome


def play_half_requests(aim: Aim, scale: Scale) -> Outcome:
    """Requests that end in their body."""
    outcome, data = Outcome(), stream_request(aim)
    for cut in range(scale.many(2_000)):
        try:
            link = connect(aim.port)
            link.sendall(data[:20 + cut % (len(data) - 20)])
            reset(link)
            outcome.add(LEFT)
        except OSError:
            outcome.add(CLOSED)
    return outcome
