"""The plays of `make bench-remote`. Each starts its store and its servers, and ends them. Figures
are milliseconds of a whole request for one token, unless their name has another unit."""

import signal
import socket
import statistics
import threading
import time
import urllib.error
from contextlib import contextmanager

from bench.chat import Conversation
from bench.servers import ROOT, Server, free_port
from bench.settings import fail
from fleet.tiers import disk_flags

SHORT_TOKENS = 300
SHORT_PAIRS = 7
SLOW_KIB_S = 512
SLOW_TALKS = 4
SHUTDOWN_S = 5
FAULT_S = 10  # in which the tier has to learn that its store fails
UPLOADED_QUIET_S = 2
UPLOADED_S_MAX = 180
PARALLEL = 2


@contextmanager
def started(store, args):
    store.start(args.work, ("127.0.0.1", free_port()))
    try:
        yield store
    finally:
        store.stop()


def serve(args, model, name: str, flags: list) -> Server:
    context = 2 * args.tokens + 4096
    command = [str(args.cairn), "serve", "-m", str(model), "-c", str(context), "--parallel",
               str(PARALLEL), "--kv-unified", "--no-warm", "--shutdown-timeout", str(SHUTDOWN_S),
               *flags]
    return Server(command, ROOT, args.work / f"{name}.log")


def serve_without(args, model) -> Server:
    return serve(args, model, "without", ["--cache-disk", "0"])


def wait_until_uploaded(server: Server):
    """Until nothing was uploaded for some time: checkpoints that wait for a second conversation
    stay in cairn_remote_to_upload."""
    end = time.monotonic() + UPLOADED_S_MAX
    uploaded, quiet_since = 0.0, time.monotonic()
    while True:
        now = server.metric("cairn_remote_uploaded_total")
        if now != uploaded or now == 0 or server.metric("cairn_disk_unsynced_bytes") > 0:
            uploaded, quiet_since = now, time.monotonic()
        if time.monotonic() - quiet_since > UPLOADED_QUIET_S:
            return
        if time.monotonic() > end:
            fail(f"after {UPLOADED_S_MAX} s a conversation was still not uploaded")
        time.sleep(0.1)


def measured_without(args, model, conversation: Conversation) -> tuple[float, int]:
    with serve_without(args, model) as server:
        return conversation.go_on(server)


def move(args, model, store, seed: int) -> dict:
    """The next turn of a conversation on another server, on one that knows nothing of it, and on
    its own one after a restart."""
    conversation = Conversation(args.tokens, seed)
    with started(store, args):
        with serve(args, model, "one", store.flags("one")) as one:
            conversation.begin(one)
            wait_until_uploaded(one)
        with serve(args, model, "two", store.flags("two")) as two:
            moved_ms, moved_tokens = conversation.go_on(two)
            fetched = two.metric("cairn_remote_fetched_bytes_total")
        with serve(args, model, "one", store.flags("one")) as one:
            restarted_ms, _ = conversation.go_on(one)
        anew_ms, anew_tokens = measured_without(args, model, conversation)
    return {"moved_ms": moved_ms, "moved_tokens": moved_tokens, "fetched_mib": fetched / 2**20,
            "restarted_ms": restarted_ms, "anew_ms": anew_ms, "anew_tokens": anew_tokens}


def with_flag(flags: list, name: str, value: str) -> list:
    """The flags with another value of one of them."""
    at = flags.index(name)
    return [*flags[:at + 1], value, *flags[at + 2:]]


def refuse_short(args, model, store, seed: int) -> dict:
    """A conversation that is not worth a lookup, on new servers with and without the tier."""
    conversation = Conversation(SHORT_TOKENS, seed)
    figures = {"with_ms": [], "without_ms": []}
    with started(store, args):
        with serve(args, model, "one", store.flags("one")) as one:
            conversation.begin(one)
            wait_until_uploaded(one)
        for pair in range(SHORT_PAIRS):
            flags = with_flag(store.flags(f"short-{pair}"), "--remote-min-ms", "500")
            with serve(args, model, "with", flags) as server:
                figures["with_ms"].append(conversation.go_on(server)[0])
                if server.metric("cairn_remote_fetched_total") > 0:
                    fail("a conversation below --remote-min-ms was fetched")
            alone = disk_flags(args.work / f"alone-{seed}-{pair}")
            with serve(args, model, "without", alone) as server:
                figures["without_ms"].append(conversation.go_on(server)[0])
    return {name: statistics.median(times) for name, times in figures.items()}


class SlowProxy:
    """Passes connections on to a port of this machine, so many KiB a second each way."""

    STEP_BYTES = 4096

    def __init__(self, port: int, kib_s: int):
        self._target, self._kib_s = port, kib_s
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket):
        try:
            while piece := source.recv(self.STEP_BYTES):
                sink.sendall(piece)
                time.sleep(len(piece) / 1024 / self._kib_s)
        except OSError:
            pass
        finally:
            source.close()
            sink.close()

    def close(self):
        self._socket.close()


def refuse_slow(args, model, store, seed: int) -> dict:
    """Conversations behind a slow network. The first ones teach the server its speed."""
    talks = [Conversation(args.tokens, SLOW_TALKS * seed + talk) for talk in range(SLOW_TALKS)]
    with started(store, args):
        with serve(args, model, "one", store.flags("one")) as one:
            for conversation in talks:
                conversation.begin(one)
            wait_until_uploaded(one)
        flags = store.flags("two")
        proxy = SlowProxy(store.port, SLOW_KIB_S)
        flags = with_flag(flags, "--remote", f"valkey://127.0.0.1:{proxy.port}")
        with serve(args, model, "two", flags) as two:
            times = [conversation.go_on(two)[0] for conversation in talks]
        proxy.close()
    return {"with_ms": times[0], "later_ms": times[-1],
            "without_ms": measured_without(args, model, talks[-1])[0]}


def commanded(port: int, *words) -> bytes:
    """The reply of a Valkey to one command; all of what comes until it is quiet."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        pieces = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        connection.sendall(b"*%d\r\n" % len(pieces) + b"".join(
            b"$%d\r\n%s\r\n" % (len(piece), piece) for piece in pieces))
        reply = b""
        connection.settimeout(0.5)
        try:
            while piece := connection.recv(1 << 16):
                reply += piece
        except TimeoutError:
            pass
        return reply


def damage(port: int):
    """Writes over some bytes in the middle of every object."""
    keys = [line for line in commanded(port, "KEYS", "*").split(b"\r\n")
            if line and line[:1] not in b"*$"]
    damaged = 0
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        replies = connection.makefile("rb")
        for key in keys:
            connection.sendall(b"*4\r\n$8\r\nSETRANGE\r\n$%d\r\n%s\r\n" % (len(key), key) +
                               b"$3\r\n300\r\n$8\r\ndamaged!\r\n")
            damaged += replies.readline().startswith(b":")  # an index entry is no string
    if damaged == 0:
        fail("there was no object to damage")


def faults_of(store) -> dict:
    """By name: what is done to the store, and what ends it. None: there is no tier."""
    port, process = store.port, store.process
    return {
        "no tier": None,
        "works": (lambda: None, lambda: None),
        "hangs": (lambda: process.send_signal(signal.SIGSTOP),
                  lambda: process.send_signal(signal.SIGCONT)),
        "full": (lambda: commanded(port, "CONFIG", "SET", "maxmemory", "1mb"),
                 lambda: commanded(port, "CONFIG", "SET", "maxmemory", "4gb")),
        "objects damaged": (lambda: damage(port), lambda: None),
        "dead": (process.kill, lambda: None),
    }


def play_faults(args, model, store):
    """Yields the figures of each fault. A third of the turns come before it."""
    talks = [Conversation(args.fault_tokens, seed) for seed in range(args.fault_requests)]
    with started(store, args):
        with serve(args, model, "one", store.flags("one")) as one:
            for talk in talks:
                talk.begin(one)
            wait_until_uploaded(one)
        for number, (name, fault) in enumerate(faults_of(store).items()):
            if fault is None:
                server = serve_without(args, model)
            else:
                server = serve(args, model, f"fault-{number}", store.flags(f"fault-{number}"))
            yield {"store": name, **play_fault(server, talks, fault or (lambda: None,) * 2)}


def play_fault(server: Server, talks: list, fault: tuple) -> dict:
    begin_fault, end_fault = fault
    before = len(talks) // 3
    failed, phases, began = 0, {"before_ms": [], "first_ms": [], "later_ms": []}, 0.0
    for number, talk in enumerate(talks):
        if number == before:
            began = time.monotonic()
            begin_fault()
        phase = ("before_ms" if number < before else
                 "first_ms" if time.monotonic() - began < FAULT_S else "later_ms")
        try:
            phases[phase].append(talk.go_on(server)[0])
        except (urllib.error.URLError, OSError):
            failed += 1
    stop_begin = time.monotonic()
    server.stop()
    stop_s = time.monotonic() - stop_begin
    end_fault()
    return {"requests": len(talks), "failed": failed, "stop_s": stop_s, **phases}


def tokens_per_s(server: Server, args, seed: int) -> float:
    reply = server.post("/v1/chat/completions", {
        "messages": [{"role": "user", "content": f"Count from {seed}."}], "ignore_eos": True,
        "max_tokens": args.answer_tokens, "temperature": 0})
    return reply["timings"]["predicted_per_second"]


def idle(args, model, store, seed: int) -> dict:
    """The speed of one answer, and the memory of the server, when nothing is to move."""
    figures = {}
    with started(store, args):
        pair = [("without", disk_flags(args.work / f"idle-{seed}")), ("with", store.flags("idle"))]
        # The second server often finds a faster machine, so they take turns at being first.
        for name, flags in pair if seed % 2 == 0 else reversed(pair):
            with serve(args, model, f"idle-{name}", flags) as server:
                Conversation(args.fault_tokens, seed).begin(server)
                if name == "with":
                    wait_until_uploaded(server)
                else:
                    time.sleep(UPLOADED_QUIET_S)
                figures[f"{name}_tokens_s"] = tokens_per_s(server, args, seed)
                figures[f"{name}_mib"] = server.memory_mib()
    return figures
