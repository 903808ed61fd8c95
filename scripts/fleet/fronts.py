"""The fronts of a fleet: what clients connect to. Each has a name, `missing()` (why it cannot run
on this machine, or nothing), start(servers, environment) -> (host, port), and stop()."""

import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from fleet.programs import POLL_S, START_S, begin, wait_for_port

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "fleet" / "front_file.py"
BALANCE = re.compile(r"^  (balance|hash-type) .*\n", re.MULTILINE)


@dataclass
class Environment:
    """What a front needs beside the servers."""

    topology: object
    work: Path
    root: Path


class Direct:
    """No front: the first server alone."""

    name = "none"

    @staticmethod
    def missing() -> str:
        return ""

    @staticmethod
    def start(servers, _environment):
        return servers[0].host, servers[0].port

    @staticmethod
    def stop():
        pass


class Haproxy:
    """HAProxy with examples/fleet/haproxy.cfg, which is what users copy: only addresses are
    replaced, and for comparison the way of balancing."""

    def __init__(self, name: str, balance: str | None = None):
        self.name = name
        self._balance = balance
        self._process = None

    @staticmethod
    def missing() -> str:
        return "" if shutil.which("haproxy") else "haproxy is not installed"

    def configuration(self, text: str, bind: str, servers) -> str:
        text, binds = re.subn(r"^  bind :8080$", f"  bind {bind}", text, flags=re.MULTILINE)
        text, examples = re.subn(r"^  server \w+ [\d.]+:\d+\n", "", text, flags=re.MULTILINE)
        if binds != 1 or examples < 2:
            raise RuntimeError("haproxy.cfg has no `bind :8080` or no servers")
        if self._balance:
            text, lines = BALANCE.subn("", text)
            if lines != 2:
                raise RuntimeError("haproxy.cfg has other lines of balancing than expected")
            text = text.rstrip() + f"\n  balance {self._balance}\n"
        return text.rstrip() + "\n" + "".join(f"  server {server.place} {server.address}\n"
                                              for server in servers)

    def start(self, servers, environment: Environment):
        host, port = environment.topology.front_address()
        example = (environment.root / "examples" / "fleet" / "haproxy.cfg").read_text()
        config_path = environment.work / f"{self.name}.cfg"
        config_path.write_text(self.configuration(example, f"{host}:{port}", servers))
        log_path = environment.work / f"{self.name}.log"
        self._process = begin(["haproxy", "-f", str(config_path)], log_path)
        wait_for_port(host, port, self._process, log_path)
        return host, port

    def stop(self):
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


class FrontFile:
    """front_file.py beside a front: keeps the list of the servers that take requests."""

    def __init__(self, servers, environment: Environment, name: str = "endpoints.yaml"):
        self._path = environment.work / name
        self._path.unlink(missing_ok=True)
        addresses = ",".join(server.address for server in servers)
        self._process = begin([sys.executable, str(PROGRAM), "--servers", addresses, "--out",
                               str(self._path), "--interval", "0.2"],
                              environment.work / "front-file.log")

    @property
    def path(self) -> Path:
        return self._path

    def wait_for(self, servers) -> bool:
        """Whether the file comes to have exactly these servers, in time."""
        wanted = sorted(server.address for server in servers)
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self._path.exists() and self._listed() == wanted:
                return True
            time.sleep(POLL_S)
        return False

    def _listed(self) -> list[str]:
        entries = re.findall(r'address: "([\d.]+)"\n    port: "(\d+)"', self._path.read_text())
        return sorted(f"{address}:{port}" for address, port in entries)

    def stop(self):
        self._process.terminate()
        self._process.wait()
