"""Servers for benchmarks in Python, Cairn or Debian's llama-server: one process each, on a port of
its own. bench_server.sh does the same for shell scripts."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_S = 300
SAVED_S = 120
STOP_S = 60
REQUEST_S = 3600
POLL_S = 0.05


def fail(what: str):
    sys.exit(f"{Path(sys.argv[0]).stem}: {what}")


def parsed(parser, work: str, threads: int):
    """The arguments; the programs, the folder and the number of threads come from CAIRN, CAIRN_LAB,
    WORK and THREADS, else from build/ and from here."""
    parser.add_argument("--redraw", action="store_true", help="write the page of the last run")
    args = parser.parse_args()
    setting, build = os.environ.get, ROOT / "build"
    args.cairn = Path(setting("CAIRN", build / "cairn")).resolve()
    args.lab = Path(setting("CAIRN_LAB", build / "cairn-lab")).resolve()
    args.work = Path(setting("WORK", build / work)).resolve()
    args.threads = int(setting("THREADS", threads))
    return args


def page_path(args, name: str, whole: bool) -> Path:
    """OUT, or docs/NAME; that of a run that was not whole stays in the folder of the run."""
    return Path(os.environ.get("OUT", (ROOT / "docs" if whole else args.work) / name))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def peer_command():
    """The command of llama-server and the folder it runs in, or None. ggml looks for its backends
    beside the program, which in the private prefix is the loader, and where it is run."""
    prefix = ROOT / ".deps" / "prefix" / "usr"
    for loader in sorted(prefix.glob("lib/*/ld-linux*.so.*")):
        folder = loader.parent
        program = prefix / "bin" / "llama-server"
        if program.is_file():
            return ([str(loader), "--library-path", f"{folder}:{folder}/llama", str(program)],
                    max(folder.glob("ggml/backends*")))
    found = shutil.which("llama-server")
    return ([found], ROOT) if found else None


def made_model(lab: Path, architecture: str, layers: int) -> Path:
    """A model of random weights, made unless it is there."""
    path = ROOT / "models" / "bench" / f"{architecture}.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        subprocess.run([lab, "model", "make", architecture, path, "--width", "256", "--layers",
                        str(layers), "--train-ctx", "262144"], check=True)
    return path


class Server:
    """One process; `command` without its port, `environment` beside the usual variables. As a
    context manager it is stopped at the end."""

    def __init__(self, command: list, folder: Path, log_path: Path,
                 environment: dict | None = None):
        self.port = free_port()
        self.log_path = log_path
        self._log = log_path.open("w")
        self._process = subprocess.Popen([*command, "--port", str(self.port)], cwd=folder,
                                         stdin=subprocess.DEVNULL, stdout=self._log,
                                         stderr=self._log,
                                         env={**os.environ, **(environment or {})})
        end = time.monotonic() + START_S
        while not self._healthy():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                fail(f"{log_path.stem} did not start; its last words are in {log_path}")
            time.sleep(POLL_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _healthy(self) -> bool:
        try:
            return b"ok" in self.get("/health")
        except OSError:
            return False

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as reply:
            return reply.read()

    def metric(self, name: str) -> float:
        """A metric without labels."""
        for line in self.get("/metrics").decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        fail(f"/metrics has no {name}")

    def resident_mib(self) -> float:
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        fail("/proc does not say how much memory the server has")

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}",
                                         data=json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=REQUEST_S) as reply:
            return json.loads(reply.read())

    def wait_until_saved(self):
        """Of Cairn: until a power failure would lose nothing."""
        end = time.monotonic() + SAVED_S
        while self.metric("cairn_disk_unsynced_bytes") > 0:
            if time.monotonic() > end:
                fail(f"after {SAVED_S} s some state is still not saved")
            time.sleep(POLL_S)

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
