"""Hostile peers of Cairn's own ports: a store that speaks Valkey's protocol, and readers of KV
events."""

import socket
import time

from abuse.wire import CLOSED, LEFT, Aim, Listener, Outcome, Scale, ask, connect

HALF = "half a reply"  # and then silence

# Replies to the first command of a connection.
REPLIES = {
    "lists in lists": lambda: b"*1\r\n" * 200_000,
    "two million values": lambda: b"*2000000\r\n" + b":1\r\n" * 2_000_000,
    "a length of 2^63": lambda: b"$9223372036854775800\r\n" + b"a" * (1 << 20),
    "128 MiB": lambda: b"*4\r\n" + (b"$33554432\r\n" + b"a" * (32 << 20) + b"\r\n") * 4,
    "an error without an end": lambda: b"-" + b"e" * (8 << 20),
    "bytes of no protocol": lambda: bytes(range(256)) * 256,
    "messages without a command": lambda: b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n" * 1000,
    "negative lengths": lambda: b"*-7\r\n$-9\r\n:99999999999999999999999\r\n",
    HALF: lambda: b"*3\r\n$5\r\nab",
}


class HostileStore(Listener):
    """Answers every command with the reply of that name."""

    def __init__(self, name: str):
        self._reply = REPLIES[name]()
        self._silent = name == HALF
        self.asked = 0
        super().__init__(self._reply_to)

    def _reply_to(self, link: socket.socket):
        while link.recv(1 << 16):
            self.asked += 1
            link.sendall(self._reply)
            if not self._silent:
                return


def play_prompts(aim: Aim, scale: Scale) -> Outcome:
    """Prompts that the server looks up in its store, none of them known."""
    outcome = Outcome()
    end = time.monotonic() + scale.repeat_s
    number = 0
    while number < 8 or time.monotonic() < end:
        text = f"{time.monotonic_ns()} " * 60
        status, _ = ask(aim, "/v1/chat/completions",
                        {"messages": [{"role": "user", "content": text}], "max_tokens": 1},
                        scale.limit_s)
        outcome.add(status)
        number += 1
    return outcome


GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16) + b"\x00" + bytes(31)


def ready_command(kind: bytes) -> bytes:
    body = (b"\x05READY\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind + b"\x08Identity" +
            bytes(4))
    return b"\x04" + bytes([len(body)]) + body


def greeted(kind: bytes) -> bytes:
    return GREETING + ready_command(kind)


def frames(kind: bytes) -> list:
    """What strangers send: each to be sent on a connection of its own."""
    long_frame = b"\x02" + (1_500_000_000).to_bytes(8, "big")
    return [
        bytes(range(256)) * 64,
        GREETING[:10],
        GREETING[:40],
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        greeted(kind)[:-3],
        greeted(b"NOSUCHTYPE"),
        greeted(kind) + long_frame + bytes(8 << 20),
        greeted(kind) + b"\x06" + (1 << 62).to_bytes(8, "big") + bytes(1 << 20),
        greeted(kind) + (b"\x01\xff" + bytes(255)) * 2_000,
        greeted(kind) + b"\x00\x03\x01ab" * 10_000,
    ]


def play_frames(aim: Aim, scale: Scale) -> Outcome:
    """Whoever announces a long frame must be disconnected; the others may stay."""
    outcome, links = Outcome(), []
    end = time.monotonic() + scale.hold_s
    for round_number in range(scale.many(20)):
        for port, kind in zip(aim.events_ports, (b"SUB", b"DEALER")):
            for data in frames(kind):
                try:
                    link = connect(port)
                    link.settimeout(0.2)
                    links.append(link)
                    link.sendall(data)
                except OSError:
                    pass  # it was disconnected while it sent
        if time.monotonic() > end and round_number > 0:
            break
    time.sleep(0.2)
    for link in links:
        outcome.add(_end_of(link))
        link.close()
    return outcome


def _end_of(link: socket.socket) -> str:
    link.setblocking(False)
    try:
        while link.recv(1 << 16):
            pass
    except BlockingIOError:
        return LEFT
    except OSError:
        pass
    return CLOSED
