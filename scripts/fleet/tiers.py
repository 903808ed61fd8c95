"""What the servers of a fleet share beside the front. A tier has a name, `missing()`,
start(work, address), flags(place) for `cairn serve`, and stop(). The address is a free one, host and
port, that all servers reach."""

import shutil
from pathlib import Path

from programs import begin, make_secret, program, wait_for_port


class NoTier:
    """Each server has its memory, and no disk."""

    name = "memory of each"

    @staticmethod
    def missing() -> str:
        return ""

    def start(self, _work: Path, _address: tuple[str, int]):
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

    def start(self, work: Path, _address: tuple[str, int]):
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
        return program("CAIRN_VALKEY_SERVER", "valkey-server", "redis-server")

    @classmethod
    def missing(cls) -> str:
        if cls._program():
            return ""
        return ("neither valkey-server nor redis-server is installed (CAIRN_VALKEY_SERVER=FILE "
                "names one)")

    def start(self, work: Path, address: tuple[str, int]):
        self._work = work / "remote"
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)
        make_secret(self._key)
        host, port = address
        log_path = self._work / "valkey.log"
        self._process = begin(
            [self._program(), "--bind", host, "--port", str(port), "--dir", str(self._work),
             "--save", "", "--protected-mode", "no", "--maxmemory", "4gb"], log_path)
        wait_for_port(host, port, self._process, log_path)
        self._url = f"valkey://{host}:{port}"

    @property
    def _key(self) -> Path:
        return self._work / "remote.key"

    def flags(self, place: str) -> list[str]:
        return ["--cache-disk", "1", "--cache-dir", str(self._work / place), "--remote", self._url,
                "--remote-insecure", "--remote-key-file", str(self._key), "--remote-after-s", "1",
                "--remote-min-ms", "0"]

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        shutil.rmtree(self._work, ignore_errors=True)
