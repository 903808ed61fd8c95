"""Requests of a hostile client, on raw sockets: they may be invalid, half, or never read."""

import json
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

HEAD_BYTES = 64 << 10  # of an answer that is kept
PIECE_BYTES = 1 << 18
JOIN_S = 5
NO_ANSWER = "no answer"  # within the time limit
CLOSED = "closed"  # the connection, without an answer
LEFT = "left"  # by the client, as the attack wants it


@dataclass(frozen=True)
class Scale:
    """How much of everything an attack has."""
    text_bytes: int
    connections: int
    senders: int  # clients that repeat a request at the same time
    repeat_s: float  # for so long it is repeated, at least once
    hold_s: float  # for so long connections are held
    limit_s: float  # for the answer to a request
    share: float  # of the numbers of parts, items, references…

    def many(self, number: int) -> int:
        return max(2, int(number * self.share))


FULL = Scale(text_bytes=16 << 20, connections=160, senders=4, repeat_s=2, hold_s=15, limit_s=60,
             share=1)
SHORT = Scale(text_bytes=2 << 20, connections=144, senders=1, repeat_s=0, hold_s=0.5, limit_s=10,
              share=0.1)


@dataclass(frozen=True)
class Aim:
    """A server under attack. `ours`: Cairn. `marker`: the text that stands for a medium there."""
    port: int
    key: str
    ours: bool
    marker: str
    events_ports: tuple = ()


@dataclass
class Outcome:
    """What became of an attack's requests."""
    statuses: Counter = field(default_factory=Counter)
    words: str = ""  # of the first refusal
    let_in: list = field(default_factory=list)  # the names of requests that were not refused
    slowest_s: float = 0.0

    def add(self, status: str, words: str = "", name: str = "", seconds: float = 0.0):
        self.statuses[status] += 1
        self.words = self.words or words
        if not is_refusal(status) and name not in self.let_in:
            self.let_in.append(name)
        self.slowest_s = max(self.slowest_s, seconds)

    def add_all(self, other: "Outcome"):
        self.statuses += other.statuses
        self.words = self.words or other.words
        self.let_in += other.let_in
        self.slowest_s = max(self.slowest_s, other.slowest_s)


def is_refusal(status: str) -> bool:
    """An answer of 500 is none: it is a fault of the server."""
    return status == CLOSED or (status.isdigit() and
                                (400 <= int(status) < 500 or int(status) in (501, 503)))


def is_fault(status: str) -> bool:
    return status in ("500", "502", "504")


def request_bytes(aim: Aim, path: str, body: bytes | dict | list, method: str = "POST") -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {aim.key}\r\n"
            f"Content-Type: application/json\r\nConnection: close\r\n"
            f"Content-Length: {len(content)}\r\n\r\n")
    return head.encode() + content


def connect(port: int, receive_bytes: int = 0) -> socket.socket:
    link = socket.socket()
    link.settimeout(5)
    if receive_bytes:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    link.connect(("127.0.0.1", port))
    return link


def reset(link: socket.socket):
    """Closes it without the usual farewell, as a client that is killed."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.close()


def _status_of(answer: bytes) -> str:
    line = answer.split(b"\r\n", 1)[0].split(b" ")
    if len(line) > 1 and line[0].startswith(b"HTTP/") and len(line[1]) == 3:
        return line[1].decode(errors="replace")
    return CLOSED


def _words_of(answer: bytes) -> str:
    body = answer.partition(b"\r\n\r\n")[2]
    try:
        error = json.loads(body)["error"]
        words = error["message"] if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError):
        return ""
    return " ".join(str(words).split())[:200]


def exchange(port: int, data: bytes, limit_s: float) -> tuple[str, bytes]:
    """Sends `data` and reads the answer, at the same time: a server may refuse before it has read
    all. Returns the status and the beginning of the answer."""
    end = time.monotonic() + limit_s
    try:
        link = connect(port)
    except OSError:
        return CLOSED, b""
    answer, sent, view = b"", 0, memoryview(data)
    with link, selectors.DefaultSelector() as selector:
        link.setblocking(False)
        selector.register(link, selectors.EVENT_READ | selectors.EVENT_WRITE)
        while (left_s := end - time.monotonic()) > 0:
            ready = sum(events for _, events in selector.select(left_s))
            try:
                if ready & selectors.EVENT_READ:
                    piece = link.recv(PIECE_BYTES)
                    if not piece:
                        return _status_of(answer), answer
                    answer += piece[:HEAD_BYTES - len(answer)]
                elif ready & selectors.EVENT_WRITE and sent < len(data):
                    sent += link.send(view[sent:sent + PIECE_BYTES])
                    if sent == len(data):
                        selector.modify(link, selectors.EVENT_READ)
            except BlockingIOError:
                pass
            except OSError:
                return _status_of(answer), answer
    return NO_ANSWER, answer


def ask(aim: Aim, path: str, body, limit_s: float) -> tuple[str, dict]:
    """One request, whole. Returns the status and the answer's object."""
    status, answer = exchange(aim.port, request_bytes(aim, path, body), limit_s)
    try:
        return status, json.loads(answer.partition(b"\r\n\r\n")[2])
    except ValueError:
        return status, {}


def at_once(count: int, work) -> None:
    """Runs work(number) in so many threads, and waits for all of them."""
    threads = [threading.Thread(target=work, args=(number,), daemon=True)
               for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Listener:
    """Gives each connection at a free port to serve(link), in a thread of its own."""

    def __init__(self, serve):
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: socket.socket):
        with link:
            try:
                self._serve(link)
            except OSError:
                pass

    def close(self):
        self._listener.close()


def repeat(aim: Aim, scale: Scale, requests: list) -> Outcome:
    """Sends the requests again and again, from several clients at once. A request is a name and
    bytes."""
    outcome, lock = Outcome(), threading.Lock()
    end = time.monotonic() + scale.repeat_s

    def send_all():
        while True:
            for name, data in requests:
                begin = time.monotonic()
                status, answer = exchange(aim.port, data, scale.limit_s)
                words = _words_of(answer) if is_refusal(status) or is_fault(status) else ""
                with lock:
                    outcome.add(status, words, name, time.monotonic() - begin)
            if time.monotonic() >= end:
                return

    at_once(scale.senders, lambda number: send_all())
    return outcome


class Crowd:
    """Many connections, held open by one thread. The first bytes of an answer decide its status."""

    def __init__(self, port: int, number: int, first: bytes, receive_bytes: int = 0):
        self._first, self._port, self._receive_bytes = first, port, receive_bytes
        self._links, self._answers = [], []
        self.outcome = Outcome()
        for _ in range(number):
            self._open()

    def _open(self):
        try:
            link = connect(self._port, self._receive_bytes)
            link.sendall(self._first)
        except OSError:
            self.outcome.add(CLOSED)
            return
        link.setblocking(False)
        self._links.append(link)
        self._answers.append(b"")

    def links(self) -> list:
        return [link for link in self._links if link is not None]

    def _drop(self, index: int):
        self._links[index].close()
        self._links[index] = None

    def send(self, data: bytes):
        """To each of them, as far as it takes that."""
        for index, link in enumerate(self._links):
            if link is None:
                continue
            try:
                link.send(data)
            except BlockingIOError:
                pass
            except OSError:
                self._end(index)

    def read(self, bytes_max: int):
        """From each of them, at most so much."""
        for index, link in enumerate(self._links):
            if link is None:
                continue
            try:
                piece = link.recv(bytes_max)
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                self._end(index)
            elif len(self._answers[index]) < HEAD_BYTES:
                self._answers[index] += piece

    def _end(self, index: int):
        answer = self._answers[index]
        self.outcome.add(_status_of(answer), _words_of(answer))
        self._drop(index)

    def leave(self) -> Outcome:
        """Closes those that are still open. One that has begun to answer counts by its status."""
        for index, link in enumerate(self._links):
            if link is None:
                continue
            status = _status_of(self._answers[index])
            self.outcome.add(LEFT if status == CLOSED else status)
            reset(link)
        return self.outcome


def hold(crowd: Crowd, scale: Scale, step, step_s: float = 0.25) -> Outcome:
    """Holds the connections; `step(crowd)` every `step_s` seconds."""
    end = time.monotonic() + scale.hold_s
    while time.monotonic() < end and crowd.links():
        step(crowd)
        time.sleep(step_s)
    return crowd.leave()
