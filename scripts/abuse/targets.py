"""The servers under attack: Cairn, and llama-server with the same model and limits."""

import json
import time
from pathlib import Path

from abuse.peers import HostileStore
from abuse.wire import Aim, ask, exchange
from bench.servers import ROOT, START_S, Server, free_port
from bench.settings import fail

ATTACKER, SECOND = "key-of-attacker", "key-of-second"
CONTEXT, SLOTS = 16384, 4
HEALTH_S = 5
REFERENCE = {"messages": [{"role": "user", "content": "What is a cairn?"}], "max_tokens": 16,
             "temperature": 0, "seed": 1}


class Target(Server):
    """A server that may end, hang or grow."""

    def __init__(self, name: str, command: list, folder: Path, log_path: Path, ours: bool,
                 events_ports: tuple = (), store: HostileStore | None = None):
        self.name, self.ours, self._store, self._killed = name, ours, store, ""
        super().__init__(command, folder, log_path)
        self.aim = Aim(self.port, ATTACKER, ours, self._marker(), events_ports)
        self.usual_answer = self.answer(START_S)
        if self.usual_answer is None:
            self.stop()
            fail(f"{name} does not chat; its last words are in {log_path}")

    def _marker(self) -> str:
        own = Aim(self.port, SECOND, self.ours, "")
        answer = exchange(self.port, _get(own, "/props"), HEALTH_S)[1].partition(b"\r\n\r\n")[2]
        try:
            return json.loads(answer).get("media_marker", "<__media__>")
        except ValueError:
            return "<__media__>"

    def lives(self) -> bool:
        return self._process.poll() is None

    def ending(self) -> str:
        """How the process has ended."""
        if self._killed:
            return self._killed
        code = self._process.poll()
        return f"signal {-code}" if code is not None and code < 0 else f"code {code}"

    def kill(self, why: str):
        self._killed = why
        self._process.kill()

    def reset_peak(self):
        try:
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        except OSError:
            pass  # the peak, VmHWM, is then that since the start

    def health_s(self) -> float | None:
        """Seconds until /health answers. None: it does not, within HEALTH_S."""
        begin = time.monotonic()
        while (left_s := HEALTH_S - (time.monotonic() - begin)) > 0 and self.lives():
            request = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            if exchange(self.port, request, left_s)[0] == "200":
                return time.monotonic() - begin
            time.sleep(0.05)
        return None

    def answer(self, limit_s: float) -> str | None:
        """The text of the same short answer as ever; None: none within the limit."""
        aim, end = Aim(self.port, SECOND, self.ours, ""), time.monotonic() + limit_s
        while (left_s := end - time.monotonic()) > 0 and self.lives():
            status, body = ask(aim, "/v1/chat/completions", REFERENCE, left_s)
            if status == "200":
                return body["choices"][0]["message"]["content"]
            time.sleep(0.1)
        return None

    def stop(self) -> int:
        if self._store is not None:
            self._store.close()
        return super().stop()


def _get(aim: Aim, path: str) -> bytes:
    return (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {aim.key}\r\n"
            "Connection: close\r\n\r\n").encode()


def _common(args) -> list:
    slots = args.work / "slots"
    slots.mkdir(exist_ok=True)
    return ["-m", str(args.model), "--mmproj", str(args.projector), "-c", str(CONTEXT), "-t",
            str(args.threads), "--parallel", str(SLOTS), "--cache-ram", "512", "--slot-save-path",
            f"{slots}/", "--api-key", f"{ATTACKER},{SECOND}"]


def cairn_command(args) -> list:
    """With --reuse exact, an answer has the same bits whatever others ask: it can be compared."""
    return [str(args.cairn), "serve", *_common(args), "--reuse", "exact", "--grid", "64",
            "--embeddings", "--pooling", "mean", "--reranking"]


def peer_command_of(args, reranking: bool) -> list:
    return [*args.peer.command, *_common(args), "--reranking" if reranking else "--embeddings"]


def start_cairn(args, store_name: str) -> Target:
    events = (free_port(), free_port())
    command = cairn_command(args) + ["--kv-events", f"tcp://127.0.0.1:{events[0]}",
                                     "--kv-events-replay", f"tcp://127.0.0.1:{events[1]}"]
    store = HostileStore(store_name) if store_name else None
    if store is None:
        command += ["--cache-disk", "0"]
    else:
        command += ["--cache-dir", str(args.work / "cache"), "--cache-disk", "1", "--remote",
                    f"valkey://127.0.0.1:{store.port}", "--remote-plain", "--remote-min-ms", "0",
                    "--remote-after-s", "1"]
    return Target("cairn", command, ROOT, args.work / "cairn.log", True, events, store)


def start_peer(args, reranking: bool) -> Target:
    return Target("llama-server", peer_command_of(args, reranking), args.peer.folder,
                  args.work / "llama-server.log", False)
