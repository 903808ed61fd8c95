"""Where the servers of a fleet run: each in a network namespace of its own with an address of its
own, or, where namespaces cannot be made, all on ports of the loopback interface.

    ┌ front ───────────────────────┐
    │ this process, HAProxy        │
    │ bridge  10.77.0.254          │
    └──┬────────┬────────┬─────────┘
     a .1     b .2     c .3   …       one `cairn serve` each, on port 8080
"""

import atexit
import ctypes
import os
import shutil
import subprocess

from bench.servers import free_port

CLONE_NEWNET = 0x40000000
FRONT_ADDRESS = "10.77.0.254"
SERVER_PORT = 8080

def run(*command: str):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")


class Loopback:
    """All servers on this machine's loopback interface, on free ports, each at an address of its
    own for the ports that it does not choose."""

    def __init__(self, reason: str):
        self.text = f"ports of the loopback interface ({reason})"
        self._places = {}

    def address(self, place: str) -> tuple[str, int]:
        if place not in self._places:
            self._places[place] = f"127.0.0.{11 + len(self._places)}", free_port()
        return self._places[place]

    def front_address(self) -> tuple[str, int]:
        return "127.0.0.1", free_port()

    def command(self, _place: str, argv: list[str]) -> list[str]:
        return argv

    def close(self):
        pass


class Namespaces:
    """A network namespace for each place. The constructor moves this process, while it has one
    thread, into that of the front; OSError: this machine does not allow it."""

    def __init__(self, places: list[str]):
        self.text = "network namespaces"
        self._prefix = f"cairn-fleet-{os.getpid()}"
        self._places = places
        self._made = []
        atexit.register(self.close)
        try:
            self._make()
        except OSError:
            self.close()
            raise

    def _name(self, place: str) -> str:
        return f"{self._prefix}-{place}"

    def _add(self, place: str):
        run("ip", "netns", "add", self._name(place))
        self._made.append(place)
        run("ip", "-n", self._name(place), "link", "set", "lo", "up")

    def _make(self):
        if shutil.which("ip") is None:
            raise OSError("there is no program ip")
        self._add("front")
        front = self._name("front")
        run("ip", "-n", front, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", front, "addr", "add", f"{FRONT_ADDRESS}/24", "dev", "br0")
        run("ip", "-n", front, "link", "set", "br0", "up")
        for index, place in enumerate(self._places):
            self._add(place)
            inside, port = self._name(place), f"v{index}"
            run("ip", "-n", front, "link", "add", port, "type", "veth", "peer", "name", "eth0",
                "netns", inside)
            run("ip", "-n", front, "link", "set", port, "master", "br0", "up")
            run("ip", "-n", inside, "addr", "add", f"{self.address(place)[0]}/24", "dev", "eth0")
            run("ip", "-n", inside, "link", "set", "eth0", "up")
        self._enter(front)

    @staticmethod
    def _enter(name: str):
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{name}", encoding="ascii") as file:
            if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
                raise OSError(f"setns: {os.strerror(ctypes.get_errno())}")

    def address(self, place: str) -> tuple[str, int]:
        return f"10.77.0.{self._places.index(place) + 1}", SERVER_PORT

    def front_address(self) -> tuple[str, int]:
        return FRONT_ADDRESS, free_port()

    def command(self, place: str, argv: list[str]) -> list[str]:
        return ["ip", "netns", "exec", self._name(place), *argv]

    def close(self):
        for place in self._made:
            subprocess.run(["ip", "netns", "del", self._name(place)], check=False)
        self._made = []


def make(places: list[str], loopback: bool):
    """Namespaces if this machine allows them, else the loopback interface with the reason."""
    if loopback:
        return Loopback("--loopback")
    if os.geteuid() != 0:
        return Loopback("network namespaces need root")
    try:
        return Namespaces(places)
    except OSError as error:
        return Loopback(f"no network namespaces here: {error}")
