"""llm-d's endpoint picker (EPP) with Envoy as the front of a fleet, by the configuration of
examples/fleet/epp. It knows by KV events what each server can resume."""

import subprocess
import time
from pathlib import Path

from fleet.fronts import Environment, FrontFile
from fleet.programs import begin, kill, make_secret, program, wait_for_port

GRPC = ("127.0.0.1", 9002)
EVENTS_PORT, REPLAY_PORT = 5557, 5558
MODEL = "made"  # as the player names it
SETTLE_S = 2  # for the EPP to subscribe at all servers, and to get what was published before
EXAMPLE_SERVER = "10.0.0.1:8080"


class Epp:
    name = "epp"
    keyed = False  # the EPP sends no key

    def __init__(self):
        self._epp = self._envoy = self._list = None

    @staticmethod
    def missing() -> str:
        if not program("CAIRN_EPP", "epp"):
            return "llm-d's endpoint picker is not installed (CAIRN_EPP=FILE names it)"
        if not program("CAIRN_ENVOY", "envoy"):
            return "envoy is not installed (CAIRN_ENVOY=FILE names it)"
        return ""

    @staticmethod
    def flags(host: str, work: Path) -> list[str]:
        """Those of each server."""
        secret = work / "kv_events_secret"
        make_secret(secret)
        return ["--alias", MODEL, "--kv-events", f"tcp://{host}:{EVENTS_PORT}",
                "--kv-events-replay", f"tcp://{host}:{REPLAY_PORT}",
                "--kv-events-secret-file", str(secret), "--drain-delay", "3"]

    def start(self, servers, environment: Environment):
        host, port = environment.topology.front_address()
        self._work = environment.work
        self._list = FrontFile(servers, environment, "epp-endpoints.yaml")
        if not self._list.wait_for(servers):
            raise RuntimeError("front_file.py does not see all servers")
        examples = environment.root / "examples" / "fleet" / "epp"
        config = (examples / "config.yaml").read_text()
        for example, own in [("/etc/epp/endpoints.yaml", str(self._list.path)),
                             (EXAMPLE_SERVER, servers[0].address),
                             ("modelName: cairn", f"modelName: {MODEL}")]:
            if example not in config:
                raise RuntimeError(f"config.yaml has no {example}")
            config = config.replace(example, own)
        (self._work / "epp.yaml").write_text(config)
        (self._work / "envoy.yaml").write_text(
            self.envoy_configuration((examples / "envoy.yaml").read_text(), host, port, servers))
        self._start_epp()
        self._envoy = self._run("envoy", [program("CAIRN_ENVOY", "envoy"), "-c",
                                          str(self._work / "envoy.yaml"), "--concurrency", "1",
                                          "-l", "warning"])
        wait_for_port(host, port, self._envoy, self._work / "envoy.log")
        return host, port

    @staticmethod
    def envoy_configuration(text: str, host: str, port: int, servers) -> str:
        bind = "{address: 0.0.0.0, port_value: 8000}"
        entry = "- endpoint: {address: {socket_address: {address: %s, port_value: %s}}}"
        first = text.find(entry % ("10.0.0.1", 8080))
        if bind not in text or first < 0:
            raise RuntimeError("envoy.yaml has another port or no servers")
        indent = "\n" + " " * (first - text.rfind("\n", 0, first) - 1)
        text = text[:first] + indent.join(entry % (server.host, server.port)
                                          for server in servers) + "\n"
        return text.replace(bind, f"{{address: {host}, port_value: {port}}}")

    def restart(self):
        """The EPP is killed and started again; Envoy goes on."""
        kill(self._epp)
        self._start_epp()

    def _start_epp(self):
        self._epp = self._run("epp", [program("CAIRN_EPP", "epp"), "--pool-name", "cairn",
                                      "--config-file", str(self._work / "epp.yaml"),
                                      "--secure-serving=false", "--metrics-endpoint-auth=false"])
        wait_for_port(*GRPC, self._epp, self._work / "epp.log")
        time.sleep(SETTLE_S)

    def _run(self, name: str, command: list[str]) -> subprocess.Popen:
        return begin(command, self._work / f"{name}.log")

    def stop(self):
        for process in (self._envoy, self._epp):
            if process is not None:
                process.terminate()
                process.wait()
        if self._list is not None:
            self._list.stop()
        self._epp = self._envoy = self._list = None
