#!/usr/bin/env python3
"""Measures how long a conversation takes to resume after a restart. Called by `make bench-resume`.

    bench_resume.py [--cairn FILE] [--model FILE] [--tokens N] [--repeat N] [--out FILE] [--quick]

A server prefills one conversation. Its next turn is then sent to a server that has prefilled
nothing (cold), to the same server (warm), and to a restarted server, with the files still in the
system's page cache and without them. llama-server does the same beside it; its slot is saved and
restored by hand. Times are those of a whole request for one token, as its client sees them;
llama-server's time includes the restore of its slot. The page has the medians of several runs and
their ratios to warm.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "bench-resume"
START_S = 300
SAVED_S = 120
POLL_S = 0.05


def fail(what: str):
    sys.exit(f"bench-resume: {what}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def peer_command():
    """The command of llama-server and the folder it runs in, or None."""
    prefix = ROOT / ".deps" / "prefix" / "usr"
    for loader in sorted(prefix.glob("lib/*/ld-linux*.so.*")):
        folder = loader.parent
        program = prefix / "bin" / "llama-server"
        if program.is_file():
            return ([str(loader), "--library-path", f"{folder}:{folder}/llama", str(program)],
                    folder / "ggml" / "backends0")
    found = shutil.which("llama-server")
    return ([found], ROOT) if found else None


class Server:
    """One process; `command` without its port."""

    def __init__(self, name: str, command: list, folder: Path):
        self.port = free_port()
        self._log_path = WORK / f"{name}.log"
        self._log = self._log_path.open("w")
        self._process = subprocess.Popen([*command, "--port", str(self.port)], cwd=folder,
                                         stdin=subprocess.DEVNULL, stdout=self._log,
                                         stderr=self._log)
        end = time.monotonic() + START_S
        while not self._healthy():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                fail(f"{name} did not start; its last words are in {self._log_path}")
            time.sleep(POLL_S)

    def _healthy(self) -> bool:
        try:
            return b"ok" in self.get("/health")
        except OSError:
            return False

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as reply:
            return reply.read()

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}",
                                         data=json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=3600) as reply:
            return json.loads(reply.read())

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def prompt(tokens: int, seed: int) -> str:
    """Text of about so many bytes, which are the tokens of a made model."""
    words = [f"{(i * 2654435761 + seed * 40503) % 9973:04d}" for i in range(tokens // 5)]
    return " ".join(words)


class Asker:
    """A conversation of two turns."""

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


def wait_until_saved(server: Server):
    end = time.monotonic() + SAVED_S
    while time.monotonic() < end:
        for line in server.get("/metrics").decode().splitlines():
            if line.startswith("cairn_disk_unsynced_bytes ") and float(line.split()[1]) == 0:
                return
        time.sleep(POLL_S)
    fail(f"after {SAVED_S} s some state is still not saved")


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

    def _serve(self) -> Server:
        return Server("cairn", self._ours, ROOT)

    def cold(self):
        """The next turn on a server that has prefilled nothing of it."""
        asker = self._begun()
        shutil.rmtree(self._cache)
        server = self._serve()
        found = asker.go_on(server)
        server.stop()
        return found

    def warm(self):
        shutil.rmtree(self._cache, ignore_errors=True)
        server = self._serve()
        asker = Asker(self._args.tokens, self._seed)
        asker.begin(server)
        found = asker.go_on(server)
        server.stop()
        return found

    def _begun(self) -> Asker:
        shutil.rmtree(self._cache, ignore_errors=True)
        server = self._serve()
        asker = Asker(self._args.tokens, self._seed)
        asker.begin(server)
        wait_until_saved(server)
        server.stop()
        return asker

    def restarted(self):
        asker = self._begun()
        server = self._serve()
        found = asker.go_on(server)
        server.stop()
        return found

    def restarted_dropped(self):
        asker = self._begun()
        server = self._serve()
        drop_from_page_cache(self._cache)
        found = asker.go_on(server)
        server.stop()
        return found

    def _serve_peer(self) -> Server:
        return Server("llama-server", self._peer, self._peer_folder)

    def peer_warm(self):
        server = self._serve_peer()
        asker = Asker(self._args.tokens, self._seed)
        asker.begin(server)
        found = asker.go_on(server)
        server.stop()
        return found

    def peer_restored(self):
        server = self._serve_peer()
        asker = Asker(self._args.tokens, self._seed)
        asker.begin(server)
        server.post("/slots/0?action=save", {"filename": "slot.bin"})
        server.stop()
        server = self._serve_peer()
        begin = time.monotonic()
        server.post("/slots/0?action=restore", {"filename": "slot.bin"})
        restore_ms = (time.monotonic() - begin) * 1000
        ms, read = asker.go_on(server)
        server.stop()
        return ms + restore_ms, read

    def peer_restarted(self):
        server = self._serve_peer()
        asker = Asker(self._args.tokens, self._seed)
        asker.begin(server)
        server.stop()
        server = self._serve_peer()
        found = asker.go_on(server)
        server.stop()
        return found


KINDS = {
    "cold": "Cairn, cold",
    "warm": "Cairn, warm",
    "restarted": "Cairn, restarted",
    "restarted_dropped": "Cairn, restarted, files out of the page cache",
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
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="does the chain work? A minute.")
    args = parser.parse_args()
    args.tokens = args.tokens or (2000 if args.quick else 20000)
    args.repeat = args.repeat or (1 if args.quick else 5)
    args.out = args.out or (WORK / "resume.md" if args.quick else ROOT / "docs" / "resume.md")
    return args


def made_model(lab: Path) -> Path:
    path = ROOT / "models" / "bench" / "qwen35.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        subprocess.run([lab, "model", "make", "qwen35", path, "--width", "256", "--layers", "4",
                        "--train-ctx", "262144"], check=True)
    return path


def page(args, medians: dict) -> str:
    warm = medians["warm"][0]
    rows = [f"| {title} | {medians[kind][0]:.0f} | {medians[kind][0] / warm:.2f} | "
            f"{medians[kind][1]:.0f} |" for kind, title in KINDS.items()]
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
    args.model = (args.model or made_model(args.lab)).resolve()
    WORK.mkdir(parents=True, exist_ok=True)
    figures = {kind: [] for kind in KINDS}
    for run in range(args.repeat):
        for kind in KINDS:
            ms, read = getattr(Play(args, run), kind)()
            figures[kind].append((ms, read))
            print(f"[{run + 1}/{args.repeat}] {KINDS[kind]}: {ms:.0f} ms, {read} tokens prefilled",
                  flush=True)
    medians = {kind: (statistics.median(ms for ms, _ in seen),
                      statistics.median(read for _, read in seen))
               for kind, seen in figures.items()}
    args.out.write_text(page(args, medians))
    print(f"written: {args.out}")
    ratio = medians["restarted"][0] / medians["warm"][0]
    print(f"restarted / warm: {ratio:.2f} (goal: 1.5)")


if __name__ == "__main__":
    main()
