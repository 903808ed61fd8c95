"""What the servers of a fleet share beside the front. A tier has a name, `missing()`, start(work),
flags(place) for `cairn serve`, and stop()."""

import shutil
from pathlib import Path


class NoTier:
    """Each server has its memory, and no disk."""

    name = "memory of each"

    @staticmethod
    def missing() -> str:
        return ""

    def start(self, _work: Path):
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

    def start(self, work: Path):
        self._folder = work / "shared"
        shutil.rmtree(self._folder, ignore_errors=True)

    def flags(self, _place: str) -> list[str]:
        return ["--cache-disk", "1", "--cache-dir", str(self._folder)]

    def stop(self):
        shutil.rmtree(self._folder, ignore_errors=True)
