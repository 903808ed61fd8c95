"""The Cairn servers of a fleet."""

import http.client
import json
import subprocess
import time
from pathlib import Path

from fleet.programs import begin, kill

START_S = 120
STOP_S = 60
POLL_S = 0.05
KEY = "fleet-test-key"


class Server:
    """One `cairn serve` at a place of the topology."""

    def __init__(self, topology, place: str, command: list[str], log_path: Path,
                 keyed: bool = True):
        self.place = place
        self.host, self.port = topology.address(place)
        self._log_path = log_path
        access = ["--api-key-admin", KEY] if keyed else ["--insecure"]
        self._command = topology.command(
            place, [*command, "--host", self.host, "--port", str(self.port), *access])
        self._process = None
        self._last_read = 0.0

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def start(self):
        self._process = begin(self._command, self._log_path)

    def wait_until_ready(self):
        end = time.monotonic() + START_S
        while self.health() != 200:
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"server {self.place} did not start; see {self._log_path}")
            time.sleep(POLL_S)

    def request(self, method: str, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, headers={"x-api-key": KEY})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def health(self) -> int:
        try:
            return self.request("GET", "/health")[0]
        except OSError:
            return 0

    def read_tokens(self) -> float:
        """The prompt tokens that it has prefilled since its start; when it is gone, as many as when
        it was asked last."""
        try:
            page = self.request("GET", "/metrics")[1].decode()
        except OSError:
            return self._last_read
        for line in page.splitlines():
            if line.startswith("llamacpp:prompt_tokens_total "):
                self._last_read = float(line.split()[1])
        return self._last_read

    def drain(self):
        """Begins a drain, waits for its end, and tells the server to stop."""
        status, body = self.request("POST", "/cairn/drain")
        if status != 200:
            raise RuntimeError(f"POST /cairn/drain: {status} {body.decode()}")
        end = time.monotonic() + STOP_S
        while not json.loads(self.request("GET", "/cairn/drain")[1])["drained"]:
            if time.monotonic() > end:
                raise RuntimeError(f"server {self.place} was not drained after {STOP_S} s")
            time.sleep(POLL_S)
        self.read_tokens()
        if self.stop() != 0:
            raise RuntimeError(f"server {self.place} did not end cleanly; see {self._log_path}")

    def kill(self):
        self.read_tokens()
        kill(self._process)

    def stop(self) -> int:
        if self._process is None:
            return 0
        self._process.terminate()
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
