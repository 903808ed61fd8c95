#!/usr/bin/env python3
"""Measures how long a conversation takes to resume after a restart. Called by `make bench-resume`.

    bench_resume.py [--cairn FILE] [--model FILE] [--tokens N] [--repeat N] [--out FILE]
                    [--disk-read-mib-s N] [--quick]

A server prefills one conversation. Its next turn is then sent to a server that has prefilled
nothing (cold), to the same server (warm), and to a restarted server, with the files still in the
system's page cache, without them, and with a disk that reads so many MiB a second
(tests/fault_library.cc makes it slow), once at once and once when the server had the time to load
its latest conversations. llama-server does the same beside it; its slot is saved and
restored by hand. Times are those of a whole request for one token, as its client sees them;
llama-server's time includes the restore of its slot. The page has the medians of several runs and
their ratios to warm.
"""

import argparse
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench_server import ROOT, Server, fail, made_model, peer_command  # noqa: E402

WORK = ROOT / "build" / "bench-resume"
FAULT_LIBRARY = ROOT / "build" / "tests" / "libfault_library.so"
LOADED_S = 5


def prompt(tokens: int, seed: int) -> str:
    """Text of about so many bytes, which are the tokens of a made model."""
    words = [f"{(i * 2654435761 + seed * 40503) % 9973:04d}" for i in range(tokens // 5)]
    return " ".join(words)


class Conversation:
    """A conversation of two turns, as its client has it."""

    def __init__(self, tokens: int, seed: int):
        self._messages = [{"role": "system", "content": prompt(tokens, seed)},
                          {"role": "user", "content": "What does it say?"}]

    def begin(self, server: Server):
        reply = server.post("/v1/chat/completions", self._body(24))
        self._messages += [reply["choices"][0]["message"],
                           {"role": "user", "content": "And what does that mean, in short?"}]

    def go_on(self, server: Server):
        """Milliseconds of the next turn, and the tokens that it prefilled."""
        begin = time.monotonic()
        reply = server.post("/v1/chat/completions", self._body(1))
        return (time.monotonic() - begin) * 1000, reply["timings"]["prompt_n"]

    def _body(self, tokens_max: int) -> dict:
        return {"messages": self._messages, "max_tokens": tokens_max, "temperature": 0,
                "cache_prompt": True}


def drop_from_page_cache(folder: Path):
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Play:
    def __init__(self, args, seed: int):
        self._args, self._seed = args, seed
        self._cache = WORK / "cache"
        common = ["-m", str(args.model), "-c", str(2 * args.tokens + 4096), "--parallel", "1"]
        self._ours = [str(args.cairn), "serve", *common, "--cache-dir", str(self._cache)]
        self._peer, self._peer_folder = args.peer
        self._peer = [*self._peer, *common, "--slot-save-path", f"{WORK}/"]

    def _serve(self, environment: dict | None = None) -> Server:
        return Server(self._ours, ROOT, WORK / "cairn.log", environment)

    def _serve_with_slow_disk(self) -> Server:
        return self._serve({"LD_PRELOAD": str(FAULT_LIBRARY),
                            "CAIRN_FAULT_READ_MIB_S": str(self._args.disk_read_mib_s)})

    def cold(self):
        """The next turn on a server that has prefilled nothing of it."""
        conversation = self._begun()
        shutil.rmtree(self._cache)
        server = self._serve()
        found = conversation.go_on(server)
        server.stop()
        return found

    def warm(self):
        shutil.rmtree(self._cache, ignore_errors=True)
        server = self._serve()
        conversation = Conversation(self._args.tokens, self._seed)
        conversation.begin(server)
        found = conversation.go_on(server)
        server.stop()
        return found

    def _begun(self) -> Conversation:
        shutil.rmtree(self._cache, ignore_errors=True)
        server = self._serve()
        conversation = Conversation(self._args.tokens, self._seed)
        conversation.begin(server)
        server.wait_until_saved()
        server.stop()
        return conversation

    def _go_on_after_restart(self, serve, meanwhile=lambda: None):
        """`meanwhile` is done between the start of the new server and the turn."""
        conversation = self._begun()
        server = serve()
        meanwhile()
        found = conversation.go_on(server)
        server.stop()
        return found

    def restarted(self):
        return self._go_on_after_restart(self._serve)

    def restarted_dropped(self):
        return self._go_on_after_restart(self._serve, lambda: drop_from_page_cache(self._cache))

    def restarted_slow_disk(self):
        return self._go_on_after_restart(self._serve_with_slow_disk)

    def restarted_slow_disk_later(self):
        return self._go_on_after_restart(self._serve_with_slow_disk, lambda: time.sleep(LOADED_S))

    def _serve_peer(self) -> Server:
        return Server(self._peer, self._peer_folder, WORK / "llama-server.log")

    def peer_warm(self):
        server = self._serve_peer()
        conversation = Conversation(self._args.tokens, self._seed)
        conversation.begin(server)
        found = conversation.go_on(server)
        server.stop()
        return found

    def peer_restored(self):
        server = self._serve_peer()
        conversation = Conversation(self._args.tokens, self._seed)
        conversation.begin(server)
        server.post("/slots/0?action=save", {"filename": "slot.bin"})
        server.stop()
        server = self._serve_peer()
        begin = time.monotonic()
        server.post("/slots/0?action=restore", {"filename": "slot.bin"})
        restore_ms = (time.monotonic() - begin) * 1000
        ms, read = conversation.go_on(server)
        server.stop()
        return ms + restore_ms, read

    def peer_restarted(self):
        server = self._serve_peer()
        conversation = Conversation(self._args.tokens, self._seed)
        conversation.begin(server)
        server.stop()
        server = self._serve_peer()
        found = conversation.go_on(server)
        server.stop()
        return found


KINDS = {
    "cold": "Cairn, cold",
    "warm": "Cairn, warm",
    "restarted": "Cairn, restarted",
    "restarted_dropped": "Cairn, restarted, files out of the page cache",
    "restarted_slow_disk": "Cairn, restarted, a disk of {} MiB/s",
    "restarted_slow_disk_later": "Cairn, restarted, a disk of {} MiB/s, asked " +
                                 f"{LOADED_S} s after the start",
    "peer_warm": "llama-server, warm",
    "peer_restored": "llama-server, restarted, slot saved and restored by hand",
    "peer_restarted": "llama-server, restarted",
}


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cairn", type=Path, default=ROOT / "build" / "cairn")
    parser.add_argument("--lab", type=Path, default=ROOT / "build" / "cairn-lab")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--disk-read-mib-s", type=int, default=50)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="does the chain work? A minute.")
    args = parser.parse_args()
    args.tokens = args.tokens or (2000 if args.quick else 20000)
    args.repeat = args.repeat or (1 if args.quick else 5)
    args.out = args.out or (WORK / "resume.md" if args.quick else ROOT / "docs" / "resume.md")
    return args


def page(args, medians: dict) -> str:
    warm = medians["warm"][0]
    rows = [f"| {title.format(args.disk_read_mib_s)} | {medians[kind][0]:.0f} | "
            f"{medians[kind][0] / warm:.2f} | {medians[kind][1]:.0f} |"
            for kind, title in KINDS.items()]
    return "\n".join([
        "# Resuming after a restart", "",
        "Written by `make bench-resume`. A conversation of about "
        f"{args.tokens:,} tokens on `{args.model.name}` continues with one more turn. The figures "
        f"are medians of {args.repeat} runs.",
        "", "| server | TTFT in ms | times warm | tokens prefilled |", "| --- | --: | --: | --: |",
        *rows, ""])


def main():
    args = parsed()
    if not args.cairn.is_file():
        fail(f"there is no program {args.cairn}; `make build` makes it")
    args.peer = peer_command() or fail("there is no llama-server to compare with")
    args.model = (args.model or made_model(args.lab, "qwen35", 4)).resolve()
    WORK.mkdir(parents=True, exist_ok=True)
    figures = {kind: [] for kind in KINDS}
    for run in range(args.repeat):
        for kind in KINDS:
            ms, read = getattr(Play(args, run), kind)()
            figures[kind].append((ms, read))
            title = KINDS[kind].format(args.disk_read_mib_s)
            print(f"[{run + 1}/{args.repeat}] {title}: {ms:.0f} ms, {read} tokens prefilled",
                  flush=True)
    medians = {kind: (statistics.median(ms for ms, _ in seen),
                      statistics.median(read for _, read in seen))
               for kind, seen in figures.items()}
    args.out.write_text(page(args, medians))
    print(f"written: {args.out}")
    ratio = medians["restarted"][0] / medians["warm"][0]
    print(f"restarted / warm: {ratio:.2f} (goal: 1.1)")


if __name__ == "__main__":
    main()
