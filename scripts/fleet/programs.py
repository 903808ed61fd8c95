"""The programs that a fleet is made of: where they are, how they are started, and their secrets."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

START_S = 30
POLL_S = 0.05


def program(variable: str, *names: str) -> str | None:
    """The file that the environment names, or else the first of the names that is installed."""
    found = (shutil.which(name) for name in names)
    return os.environ.get(variable) or next((path for path in found if path), None)


def begin(command: list[str], log_path: Path) -> subprocess.Popen:
    """Starts the command; what it prints is added to the log."""
    with log_path.open("a") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def kill(process: subprocess.Popen | None):
    """Kills the process, if there is one."""
    if process is not None:
        process.kill()
        process.wait()


def wait_for_port(host: str, port: int, process: subprocess.Popen, log_path: Path):
    end = time.monotonic() + START_S
    while True:
        try:
            with socket.create_connection((host, port), timeout=1):
                return
        except OSError:
            pass
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{log_path.stem} did not start; see {log_path}")
        time.sleep(POLL_S)


def make_secret(path: Path):
    """Writes a random key, unless there is one, for its owner alone."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(os.urandom(32).hex() + "\n")
