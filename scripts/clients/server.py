"""A `cairn serve` of its own for one client, with one model or several."""

import re
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Optional


class Server:
    def __init__(self, program: Path, models: list[str], script: Optional[Path], log: Path,
                 flags: list[str]):
        """`models`: the flags that say which models it serves, and where it keeps states. Without
        a script the model's own answers are given."""
        command = [str(program), "serve", *models, "--port", "0"]
        if script:
            command += ["--script", str(script)]
        self._log_path = log
        self._log = open(log, "wb")
        self._process = subprocess.Popen(command + flags, stdin=subprocess.DEVNULL,
                                         stdout=self._log, stderr=self._log)
        self.port = self._wait_until_ready()

    def _wait_until_ready(self) -> int:
        for _ in range(1200):
            text = self._log_path.read_text(errors="replace")
            found = re.search(r"ready after .*:(\d+)\s", text)
            if found:
                return int(found[1])
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        self.stop()
        raise RuntimeError("the server did not start: " + self._log_path.read_text()[-500:])

    def metric(self, name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as page:
            text = page.read().decode()
        return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])

    def stop(self) -> int:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._log.close()
        return self._process.wait()
