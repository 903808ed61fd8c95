"""What the servers of a fleet share beside the front. A tier has a name, `missing()`, start(work,
address), flags(place) for `cairn serve`, and stop(). The address is a free one, host and port, that
all servers reach."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from bench.servers import free_port
from fleet.programs import POLL_S, START_S, begin, kill, make_secret, program, wait_for_port


def fresh_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def disk_flags(folder: Path) -> list[str]:
    return ["--cache-disk", "1", "--cache-dir", str(folder)]


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
        return disk_flags(self._folder)

    def stop(self):
        shutil.rmtree(self._folder, ignore_errors=True)


class Valkey:
    """A folder for each server, and behind them one Valkey (or Redis) that they share."""

    name = "Valkey"

    def __init__(self):
        self._work = self.process = self.url = self.port = None

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
        self._work = fresh_folder(work / "remote")
        make_secret(self._work / "remote.key")
        host, port = address
        self.port = port
        log_path = self._work / "valkey.log"
        self.process = begin(
            [self._program(), "--bind", host, "--port", str(port), "--dir", str(self._work),
             "--save", "", "--protected-mode", "no", "--maxmemory", "4gb"], log_path)
        wait_for_port(host, port, self.process, log_path)
        self.url = f"valkey://{host}:{port}"

    def flags(self, place: str) -> list[str]:
        return ["--remote", self.url, *self.folder_flags(place)]

    def folder_flags(self, place: str) -> list[str]:
        """Those that do not name the store."""
        return [*disk_flags(self._work / place), "--remote-insecure",
                "--remote-key-file", str(self._work / "remote.key"), "--remote-after-s", "1",
                "--remote-min-ms", "0"]

    def stop(self):
        kill(self.process)
        self.process = None
        shutil.rmtree(self._work, ignore_errors=True)


class JuiceFs:
    """One --cache-dir for all, on JuiceFS: a mount for each server, a Valkey with the metadata, and
    a folder of this machine with the data."""

    name = "shared folder on JuiceFS"

    def __init__(self):
        self._metadata = Valkey()
        self._work = None
        self._mounts = {}  # by place: the process and the folder

    @staticmethod
    def _program() -> str | None:
        return program("CAIRN_JUICEFS", "juicefs")

    @classmethod
    def missing(cls) -> str:
        if not cls._program():
            return "juicefs is not installed (CAIRN_JUICEFS=FILE names it)"
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            return "JuiceFS needs /dev/fuse"
        return Valkey.missing()

    def start(self, work: Path, address: tuple[str, int]):
        self._metadata.start(work, address)
        self._work = fresh_folder(work / "juicefs")
        with (self._work / "format.log").open("w") as log:
            subprocess.run([self._program(), "format", self._url(), "fleet", "--storage", "file",
                            "--bucket", f"{self._work}/data/", "--trash-days", "0"], check=True,
                           stdout=log, stderr=log)

    def _url(self) -> str:
        return self._metadata.url.replace("valkey://", "redis://") + "/1"

    def flags(self, place: str) -> list[str]:
        """Mounts the file system."""
        folder, log_path = self._work / place, self._work / f"{place}.log"
        folder.mkdir()
        process = begin([self._program(), "mount", self._url(), str(folder), "--no-syslog",
                         "--no-usage-report", "--cache-dir", str(self._work / f"cache-{place}")],
                        log_path)
        self._mounts[place] = process, folder
        deadline = time.monotonic() + START_S
        while not folder.is_mount():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"JuiceFS is not mounted; see {log_path}")
            time.sleep(POLL_S)
        return disk_flags(folder / "cache")

    def stop(self):
        for process, folder in self._mounts.values():
            subprocess.run(["umount", "--lazy", str(folder)], check=False)
            process.terminate()
            process.wait()
        self._mounts = {}
        self._metadata.stop()
        if self._work is not None:
            shutil.rmtree(self._work, ignore_errors=True)


class Seaweed:
    """A folder for each server, behind them an S3 server (SeaweedFS) with the objects and a Valkey
    with their index."""

    name = "S3 and Valkey"

    def __init__(self):
        self._index = Valkey()
        self._work = self._endpoint = self.process = None

    @classmethod
    def missing(cls) -> str:
        if not program("CAIRN_WEED", "weed"):
            return "weed (SeaweedFS) is not installed (CAIRN_WEED=FILE names it)"
        return Valkey.missing()

    def start(self, work: Path, address: tuple[str, int]):
        self._index.start(work, address)
        host, port = address[0], free_port()
        self._work = fresh_folder(work / "weed")
        access, secret = "fleet", os.urandom(16).hex()
        identity = {"name": "fleet", "credentials": [{"accessKey": access, "secretKey": secret}],
                    "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
        (self._work / "s3.json").write_text(json.dumps({"identities": [identity]}))
        credentials = self._work / "credentials"
        credentials.touch(mode=0o600)
        credentials.write_text(f"[default]\naws_access_key_id = {access}\n"
                               f"aws_secret_access_key = {secret}\n")
        # Each port of SeaweedFS has a second one, 10,000 above, unless that is named too.
        ports = [f"-{part}={free_port()}" for part in
                 ("s3.port.grpc", "master.port", "master.port.grpc", "volume.port",
                  "volume.port.grpc", "filer.port", "filer.port.grpc")]
        log_path = self._work / "weed.log"
        self.process = begin(
            [program("CAIRN_WEED", "weed"), "server", f"-dir={self._work}", f"-ip={host}",
             f"-ip.bind={host}", "-s3", "-filer", f"-s3.config={self._work / 's3.json'}",
             f"-s3.port={port}", "-s3.port.iceberg=0", "-s3.port.lance=0", *ports,
             "-volume.max=20", "-master.volumeSizeLimitMB=64"],
            log_path)
        wait_for_port(host, port, self.process, log_path)
        self._endpoint = f"http://{host}:{port}"

    def flags(self, place: str) -> list[str]:
        return ["--remote", "s3://cairn/fleet", "--remote-endpoint", self._endpoint,
                "--remote-credentials", str(self._work / "credentials"), "--remote-index",
                self._index.url, *self._index.folder_flags(place)]

    def stop(self):
        kill(self.process)
        self.process = None
        shutil.rmtree(self._work, ignore_errors=True)
        self._index.stop()
