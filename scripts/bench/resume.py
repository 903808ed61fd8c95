"""Measures how long a conversation takes to resume after a restart: make bench-resume.

A run prefills one conversation on a new server (cold), which then answers its next turns (warm) and
stops. Before the first turn the server is idle for a moment, so that it measures the grid and keeps
it: its restarts begin with the conversation then. The turn after those is sent to a new server on
each copy of its cache folder, at once: with the files still in the system's page cache, without
them, and with a disk that reads so many MiB a second (tests/fault_library.cc makes it slow). It is
also sent later, when the server had the time to load its latest conversations. llama-server does
the same beside it; its slot is saved and restored by hand. Times are those of a whole request for
one token, as its client sees them; llama-server's time includes the restore of its slot. The page
has the medians of all turns and restarts and their ratios to warm.
"""

import os
import shutil
import statistics
import time
from pathlib import Path

from bench.chat import Conversation
from bench.pages import counted, table
from bench.servers import ROOT, Server, find_peer, made_for_benches
from bench.settings import Settings, path, prepared

FAULT_LIBRARY = ROOT / "build" / "tests" / "libfault_library.so"
GRID_S = 2  # in which a made model's grid is measured
SOON_S = 1
LOADED_S = 5
LONG_TOKENS = 100000


def drop_from_page_cache(folder: Path):
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Play:
    """One run: a prefill on each server, and what follows from it. `seen` is called with the kind
    of each figure, milliseconds and tokens prefilled."""

    def __init__(self, args, tokens: int, seed: int, seen):
        self._args, self._tokens, self._seed, self._seen = args, tokens, seed, seen
        self._cache, self._saved = args.work / "cache", args.work / "saved"
        common = ["-m", str(args.model), "-c", str(2 * tokens + 4096), "--parallel", "1"]
        self._ours = [str(args.cairn), "serve", *common, "--cache-dir", str(self._cache)]
        self._peer = [*args.peer.command, *common, "--slot-save-path", f"{args.work}/"]

    def run(self):
        conversation = self._play_ours()
        for _ in range(self._args.restarts):
            self._restart(conversation, "restarted", self._serve)
            self._restart(conversation, "restarted_later", self._serve, lambda: time.sleep(SOON_S))
            self._restart(conversation, "restarted_dropped", self._serve, self._drop)
            self._restart(conversation, "restarted_slow_disk", self._serve_with_slow_disk)
            self._restart(conversation, "restarted_slow_disk_later", self._serve_with_slow_disk,
                          lambda: time.sleep(LOADED_S))
        for folder in (self._cache, self._saved):
            shutil.rmtree(folder)
        self._play_peer()

    def _serve(self, environment: dict | None = None) -> Server:
        return Server(self._ours, ROOT, self._args.work / "cairn.log", environment)

    def _serve_with_slow_disk(self) -> Server:
        return self._serve({"LD_PRELOAD": str(FAULT_LIBRARY),
                            "CAIRN_FAULT_READ_MIB_S": str(self._args.disk_read_mib_s)})

    def _serve_peer(self) -> Server:
        return Server(self._peer, self._args.peer.folder,
                      self._args.work / "llama-server.log")

    def _drop(self):
        drop_from_page_cache(self._cache)

    def _play_ours(self) -> Conversation:
        """Cold and warm. Returns the conversation; `saved` is what the server left of it."""
        for folder in (self._cache, self._saved):
            shutil.rmtree(folder, ignore_errors=True)
        with self._serve() as server:
            time.sleep(GRID_S)
            conversation = Conversation(self._tokens, self._seed)
            self._seen("cold", *conversation.begin(server))
            self._go_on(conversation, server, "warm")
        self._cache.rename(self._saved)
        return conversation

    def _go_on(self, conversation: Conversation, server: Server, kind: str):
        """The turns that follow on the same server."""
        for _ in range(self._args.restarts):
            self._seen(kind, *conversation.go_on(server))
            conversation.answer(server)

    def _restart(self, conversation, kind: str, serve, meanwhile=lambda: None):
        """`meanwhile` is done between the start of the new server and the turn."""
        shutil.rmtree(self._cache, ignore_errors=True)
        shutil.copytree(self._saved, self._cache)
        with serve() as server:
            meanwhile()
            self._seen(kind, *conversation.go_on(server))

    def _play_peer(self):
        with self._serve_peer() as server:
            conversation = Conversation(self._tokens, self._seed)
            self._seen("peer_cold", *conversation.begin(server))
            self._go_on(conversation, server, "peer_warm")
            server.post("/slots/0?action=save", {"filename": "slot.bin"})
        for _ in range(self._args.restarts):
            with self._serve_peer() as server:
                begin = time.monotonic()
                server.post("/slots/0?action=restore", {"filename": "slot.bin"})
                restore_ms = (time.monotonic() - begin) * 1000
                ms, read = conversation.go_on(server)
                self._seen("peer_restored", ms + restore_ms, read)


KINDS = {
    "cold": "Cairn, cold",
    "warm": "Cairn, warm",
    "restarted": "Cairn, restarted",
    "restarted_later": f"Cairn, restarted, asked {SOON_S} s after the start",
    "restarted_dropped": "Cairn, restarted, files out of the page cache",
    "restarted_slow_disk": "Cairn, restarted, a disk of {} MiB/s",
    "restarted_slow_disk_later": "Cairn, restarted, a disk of {} MiB/s, asked " +
                                 f"{LOADED_S} s after the start",
    "peer_cold": "llama-server, cold or restarted",
    "peer_warm": "llama-server, warm",
    "peer_restored": "llama-server, restarted, slot saved and restored by hand",
}

# Seen once, on another run than the table.
WHERE_THE_TIME_GOES = """## Where the time goes

A server that has been idle for a moment has measured the grid of its model, and the next start
knows it. That start begins with the latest conversation: 12 ms to read 11 MB of 20,000 tokens, and
10 to set them, as seen once with --trace-events. Most of that is over when a request has been
received and tokenized. A new server tokenizes the whole prompt (14 ms more than a running one,
which keeps the tokens), and takes 3,000 to 4,000 page faults more in its first turn.

A start that does not know the grid measures it before it loads anything, unless a request comes;
that request then waits for the disk: 1.31 times warm in an earlier run. Setting each part while the
next is read made no difference that could be told from noise."""


def runs_of(args, tokens: int) -> int:
    """A long conversation is prefilled once: that alone takes minutes."""
    return args.repeat or (1 if args.quick or tokens >= LONG_TOKENS else 3)


def medians(args, tokens: int) -> dict:
    """Plays the runs. Of each kind: milliseconds and tokens prefilled."""
    figures = {kind: [] for kind in KINDS}
    runs = runs_of(args, tokens)
    for run in range(runs):
        def seen(kind: str, ms: float, read: int, run=run):
            figures[kind].append((ms, read))
            title = KINDS[kind].format(args.disk_read_mib_s)
            print(f"[{run + 1}/{runs}] {title}: {ms:.0f} ms, {read} tokens prefilled", flush=True)

        Play(args, tokens, run, seen).run()
    return {kind: (statistics.median(ms for ms, _ in seen),
                   statistics.median(read for _, read in seen))
            for kind, seen in figures.items()}


def section(args, tokens: int, found: dict) -> list:
    warm = found["warm"][0]
    rows = [[title.format(args.disk_read_mib_s), f"{found[kind][0]:.0f}",
             f"{found[kind][0] / warm:.2f}", f"{found[kind][1]:.0f}"]
            for kind, title in KINDS.items()]
    return [f"## {tokens:,} tokens", "",
            f"Medians of {counted(runs_of(args, tokens), 'run')} with "
            f"{counted(args.restarts, 'turn')} and {counted(args.restarts, 'restart')} of each "
            "kind in it.", "",
            table(["server", "TTFT in ms", "times warm", "tokens prefilled"], rows)]


def arguments(argv: list[str]):
    settings = Settings("resume", __doc__, argv)
    settings.add("model", path, None, "a file, in place of a made one")
    settings.add("tokens", lambda text: list(map(int, text.split())), [20000],
                 "of the conversations, with blanks between", quick=[2000])
    settings.add("repeat", int, None)
    settings.add("restarts", int, 3)
    settings.add("disk-read-mib-s", int, 50, "of the slow disk")
    settings.page("resume.md")
    return settings.parsed()


def main(argv: list[str]):
    args = prepared(arguments(argv))
    args.peer = find_peer()
    args.model = args.model or made_for_benches(args.lab, "qwen35", 4)
    lines = ["# Resuming after a restart", "",
             f"Written by `make bench-resume`. A conversation on `{args.model.name}` continues "
             "with one more turn.", ""]
    for tokens in args.tokens:
        found = medians(args, tokens)
        lines += section(args, tokens, found)
        ratio = found["restarted"][0] / found["warm"][0]
        print(f"{tokens} tokens, restarted / warm: {ratio:.2f} (goal: 1.1)")
    args.out.write_text("\n".join([*lines, WHERE_THE_TIME_GOES, ""]))
    print(f"written: {args.out}")
