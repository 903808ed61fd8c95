#!/usr/bin/env python3
"""Keeps the file of the servers that llm-d's endpoint picker (EPP) sends requests to.

Its plugin file-discovery reads a list and does not check whether the servers live. So each server's
/health is asked, and one that drains or has died leaves the list. The file is replaced by a rename: a
reader sees the old list or the new one. Runs until a signal ends it, and leaves the file as it is then.
"""

import argparse
import concurrent.futures
import http.client
import ipaddress
import json
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

OK, REFUSES, NO_ANSWER = "ok", "refuses", "no answer"


def server_of(text: str) -> str:
    """A server as HOST:PORT with an IPv4 address, which is all that the plugin takes."""
    host, _, port = text.rpartition(":")
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text} is no IPv4 address with a port; write HOST:PORT, as in 10.0.0.1:8080") from None
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise argparse.ArgumentTypeError(f"{text} has no port from 1 to 65535")
    return f"{host}:{int(port)}"


def servers_of(text: str) -> list[str]:
    servers = [server_of(one) for one in text.split(",")]
    twice = {one for one in servers if servers.count(one) > 1}
    if twice:
        raise argparse.ArgumentTypeError(f"{min(twice)} is named twice")
    return servers


def label_of(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text} must be KEY=VALUE")
    return key, value


def health_of(server: str, timeout_s: float) -> str:
    """What GET /health says. A proxy of the environment is not asked: the servers are near."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{server}/health", timeout=timeout_s) as reply:
            return OK if reply.status == 200 else REFUSES
    except urllib.error.HTTPError:
        return REFUSES
    except (OSError, http.client.HTTPException):
        return NO_ANSWER


class Endpoints:
    """Which servers take requests. At first none does; after `fall` checks in a row without an answer
    one leaves, and at once if it answers that it takes none."""

    def __init__(self, servers: list[str], fall: int):
        self.servers = servers
        self._fall = fall
        self._takes = dict.fromkeys(servers, False)
        self._unanswered = dict.fromkeys(servers, 0)

    def update(self, healths: dict[str, str]) -> list[str]:
        """Takes a check of each server, and returns what changed, a line for each."""
        changes = []
        for server, health in healths.items():
            unanswered = self._unanswered[server] + 1 if health == NO_ANSWER else 0
            waits = health == NO_ANSWER and unanswered < self._fall
            takes = health == OK or (self._takes[server] and waits)
            if takes != self._takes[server]:
                why = "takes no requests" if health == REFUSES else "does not answer"
                changes.append(f"{server} takes requests: it joins" if takes else f"{server} {why}: it leaves")
            self._unanswered[server], self._takes[server] = unanswered, takes
        return changes

    def yaml(self, labels: dict[str, str]) -> str:
        entries = ""
        for server in self.servers:
            if not self._takes[server]:
                continue
            host, port = server.split(":")
            entries += f'  - name: cairn-{host}-{port}\n    address: "{host}"\n    port: "{port}"\n'
            if labels:
                entries += f"    labels: {json.dumps(labels)}\n"
        return "# Written by front_file.py, which replaces it.\nendpoints:" + ("\n" + entries if entries else " []\n")


class FrontFile:
    def __init__(self, options: argparse.Namespace, say):
        self._endpoints = Endpoints(options.servers, options.fall)
        self._labels = dict(options.label)
        self._out = Path(options.out)
        self._timeout_s = options.timeout
        self._say = say
        self._written = ""

    def round(self) -> None:
        """Checks all servers at once, and replaces the file if the list has changed or the file is gone.
        OSError: the file cannot be written, and the next round tries again."""
        servers = self._endpoints.servers
        with concurrent.futures.ThreadPoolExecutor(len(servers)) as pool:
            found = pool.map(lambda server: health_of(server, self._timeout_s), servers)
            healths = dict(zip(servers, found))
        for change in self._endpoints.update(healths):
            self._say(change)
        content = self._endpoints.yaml(self._labels)
        if content == self._written and self._out.exists():
            return
        self._written = ""
        self._replace(content)
        self._written = content

    def _replace(self, content: str) -> None:
        handle, part = tempfile.mkstemp(dir=self._out.parent, prefix=self._out.name + ".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(content)
            os.chmod(part, 0o644)  # the front is another user
            os.rename(part, self._out)
        except OSError:
            os.unlink(part)
            raise


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=servers_of, required=True, help="HOST:PORT,... with IPv4 addresses")
    parser.add_argument("--out", required=True, help="the file that file-discovery watches")
    parser.add_argument("--label", type=label_of, action="append", metavar="KEY=VALUE",
                        help="of every endpoint; again for several (llm-d.ai/engine-type=cairn)")
    parser.add_argument("--interval", type=float, default=1, help="seconds between two checks (1)")
    parser.add_argument("--timeout", type=float, default=2, help="seconds to wait for a check's answer (2)")
    parser.add_argument("--fall", type=int, default=2,
                        help="checks in a row without an answer after which a server leaves (2)")
    parser.add_argument("--once", action="store_true", help="write the file once and exit")
    options = parser.parse_args(arguments)
    if options.label is None:
        options.label = [("llm-d.ai/engine-type", "cairn")]
    if options.interval < 0.05 or options.timeout < 0.05 or options.fall < 1:
        parser.error("--interval and --timeout are at least 0.05, --fall at least 1")
    return options


def main() -> int:
    options = options_of(sys.argv[1:])

    def say(line: str) -> None:
        print(f"front_file: {line}", file=sys.stderr, flush=True)

    file = FrontFile(options, say)
    failed = False
    while True:
        try:
            file.round()
            failed = False
        except OSError as error:
            if not failed:  # said when it begins, not in every round
                say(f"{options.out} cannot be written: {error}")
            if options.once:
                return 1
            failed = True
        if options.once:
            return 0
        time.sleep(options.interval)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
