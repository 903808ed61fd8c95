"""The servers that are measured, Cairn or Debian's llama-server: one process each, on a port of its
own."""

import http.server
import json
import os
import random
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.settings import ROOT, fail

START_S = 300
SAVED_S = 120
STOP_S = 60
REQUEST_S = 3600
POLL_S = 0.05
# Below those that the kernel gives to outgoing connections, one of which could take the port before
# the server that it is for.
PORTS = range(15_000, 31_000)
ASK_FOR_RESTART = "import sys, urllib.request as r; r.urlopen(sys.argv[1], b'', 600).read()"


def free_port() -> int:
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@dataclass(frozen=True)
class Peer:
    """Debian's llama-server: its command, and the folder it runs in."""
    command: list
    folder: Path


def installed_peer() -> Peer | None:
    """ggml looks for its backends beside the program, which in the private prefix is the loader,
    and where it is run. With CAIRN_BACKENDS_DIR it runs there, with the kernels that Cairn uses."""
    prefix = ROOT / ".deps" / "prefix" / "usr"
    program = prefix / "bin" / "llama-server"
    own = os.environ.get("CAIRN_BACKENDS_DIR")
    for loader in sorted(prefix.glob("lib/*/ld-linux*.so.*")):
        folder = loader.parent
        if program.is_file():
            return Peer([str(loader), "--library-path", f"{folder}:{folder}/llama", str(program)],
                        Path(own or max(folder.glob("ggml/backends*"))))
    found = shutil.which("llama-server")
    return Peer([found], Path(own or ROOT)) if found else None


def find_peer() -> Peer:
    return installed_peer() or fail(
        "there is no llama-server to compare with: install llama.cpp-tools")


def run_peer(argv: list[str]):
    """llama-server, in place of this process."""
    peer = find_peer()
    os.chdir(peer.folder)
    os.execv(peer.command[0], [*peer.command, *argv])


def make_model(lab: Path, file: Path, architecture: str, *flags) -> Path:
    """A model of random weights."""
    return _made(lab, file, "make", architecture, *flags)


def make_projector(lab: Path, file: Path, kind: str, *flags) -> Path:
    return _made(lab, file, "make-projector", kind, *flags)


def _made(lab: Path, file: Path, *how) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    made, kind, *flags = map(str, how)
    subprocess.run([str(lab), "model", made, kind, str(file), *flags], check=True,
                   stdout=subprocess.DEVNULL)
    return file


def made_for_benches(lab: Path, architecture: str, layers: int, folder: Path | None = None,
                     width: int = 256) -> Path:
    return make_model(lab, (folder or ROOT / "models" / "bench") / f"{architecture}.gguf",
                      architecture, "--width", width, "--layers", layers, "--train-ctx", 262144)


class Server:
    """One process, ready; `command` without its port, `environment` beside the usual variables. As
    a context manager it is stopped at the end. It is asked every `poll_s` seconds whether it is
    ready."""

    def __init__(self, command: list, folder: Path, log_path: Path,
                 environment: dict | None = None, poll_s: float = POLL_S):
        self.port = free_port()
        self.log_path = log_path
        self._command = [*map(str, command), "--port", str(self.port)]
        self._folder, self._poll_s = folder, poll_s
        self._environment = {**os.environ, **(environment or {})}
        log_path.unlink(missing_ok=True)
        self.start()

    def start(self):
        with self.log_path.open("a") as log:
            self._process = subprocess.Popen(self._command, cwd=self._folder, stdout=log,
                                             stderr=log, stdin=subprocess.DEVNULL,
                                             env=self._environment)
        try:
            self._wait_until_ready()
        except BaseException:  # an interrupt too: nobody else could stop it
            self.stop()
            raise

    def _wait_until_ready(self):
        end = time.monotonic() + START_S
        while not self._healthy():
            if self._process.poll() is not None:
                fail(f"{self.log_path.stem} did not start; its last words are in {self.log_path}")
            if time.monotonic() > end:
                fail(f"{self.log_path.stem} is not ready after {START_S} s")
            time.sleep(self._poll_s)

    def restart(self):
        self.stop()
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _healthy(self) -> bool:
        try:
            return b"ok" in self.get("/health")
        except OSError:
            return False

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.url + path, timeout=60) as reply:
            return reply.read()

    def metric(self, name: str) -> float:
        """A metric without labels."""
        for line in self.get("/metrics").decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        fail(f"/metrics has no {name}")

    def memory_mib(self, name: str = "VmRSS") -> float:
        """Returns what /proc says; 0 of a process that has ended."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        except OSError:
            return 0.0
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name + ":")),
                    0.0)

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(self.url + path, data=json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=REQUEST_S) as reply:
            return json.loads(reply.read())

    def wait_until_saved(self):
        """Waits until a power failure would lose nothing; Cairn alone."""
        end = time.monotonic() + SAVED_S
        while self.metric("cairn_disk_unsynced_bytes") > 0:
            if time.monotonic() > end:
                fail(f"after {SAVED_S} s some state is still not saved")
            time.sleep(POLL_S)

    def stop(self) -> int:
        """Returns its exit code; one that does not end by itself is killed."""
        self._process.terminate()
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


@contextmanager
def restart_command(server: Server):
    """A command of the shell with which another program restarts the server, and waits for that."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            server.restart()
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    listener = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield shlex.join([sys.executable, "-c", ASK_FOR_RESTART,
                          f"http://127.0.0.1:{listener.server_port}"])
    finally:
        listener.shutdown()
        listener.server_close()
