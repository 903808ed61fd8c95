"""What the servers of a fleet share beside the front. A tier has a name, `missing()`, start(work),
flags(place) for `cairn serve`, and stop(). start() gets the address of the front, at which the
servers reach what a tier runs."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

from fronts import wait_for_port


class NoTier:
    """Each server has its memory, and no disk."""

    name = "memory of each"

    @staticmethod
    def missing() -> str:
        return ""

    def start(self, _work: Path, _host: str):
        pass

    def flags(self, _place: str) -> list[str]:
        return ["--cache-disk", "0"]

    def stop(self):
        pass


class SharedFolder:
    """One --cache-dir for all, on the file system of this machine. JuiceFS, NFS and CephFS stand in
    for it where the servers are several machines."""

    name = "shared folder"

    def __init__(self):
        self._folder = None

    @staticmethod
    def missing() -> str:
        return ""

    def start(self, work: Path, _host: str):
        self._folder = work / "shared"
        shutil.rmtree(self._folder, ignore_errors=True)

    def flags(self, _place: str) -> list[str]:
        return ["--cache-disk", "1", "--cache-dir", str(self._folder)]

    def stop(self):
        shutil.rmtree(self._folder, ignore_errors=True)


class Valkey:
    """A folder for each server, and behind them one Valkey (or Redis) that they share."""

    name = "remote tier"

    def __init__(self):
        self._work = self._process = self._url = None

    @staticmethod
    def _program() -> str | None:
        return (os.environ.get("CAIRN_VALKEY_SERVER") or shutil.which("valkey-server")
                or shutil.which("redis-server"))

    @classmethod
    def missing(cls) -> str:
        if cls._program():
            return ""
        return "neither valkey-server nor redis-server is installed (CAIRN_VALKEY_SERVER=FILE names one)"

    def start(self, work: Path, host: str):
        self._work = work / "remote"
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)
        key = self._work / "remote.key"
        key.touch(mode=0o600)
        key.write_text(os.urandom(32).hex() + "\n")
        with socket.socket() as probe:
            probe.bind((host, 0))
            port = probe.getsockname()[1]
        log = self._work / "valkey.log"
        with log.open("w") as words:
            self._process = subprocess.Popen(
                [self._program(), "--bind", host, "--port", str(port), "--save", "",
                 "--protected-mode", "no", "--maxmemory", "4gb"],
                stdin=subprocess.DEVNULL, stdout=words, stderr=words, cwd=self._work)
        wait_for_port(host, port, self._process, log)
        self._url = f"valkey://{host}:{port}"

    def flags(self, place: str) -> list[str]:
        return ["--cache-disk", "1", "--cache-dir", str(self._work / place), "--remote", self._url,
                "--remote-insecure", "--remote-key-file", str(self._work / "remote.key"),
                "--remote-after-s", "1", "--remote-min-ms", "0"]

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        shutil.rmtree(self._work, ignore_errors=True)
