"""Tests of examples/fleet/front_file.py, with servers that answer /health as each test wants."""

import argparse
import http.server
import stat
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "fleet"))

import front_file  # noqa: E402


class FakeServer:
    """Answers /health with `status`, or not before `goes_on` is set."""

    def __init__(self):
        fake = self
        self.status = 200
        self.goes_on = threading.Event()
        self.goes_on.set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                fake.goes_on.wait()
                self.send_response(fake.status if self.path == "/health" else 404)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.address = f"127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])
        self._thread.start()

    def stop(self):
        self.goes_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class FrontFileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "front"
        self.folder.mkdir()
        self.out = self.folder / "endpoints.yaml"
        self.servers = [FakeServer(), FakeServer()]
        for server in self.servers:
            self.addCleanup(server.stop)
        self.said = []

    def make(self, *arguments: str) -> front_file.FrontFile:
        servers = ",".join(server.address for server in self.servers)
        options = front_file.options_of(["--servers", servers, "--out", str(self.out),
                                         "--label", "pool=a", *arguments])
        return front_file.FrontFile(options, self.said.append)

    @staticmethod
    def listing(*servers: FakeServer) -> str:
        entries = "".join(f'  - name: cairn-127.0.0.1-{one.port}\n    address: "127.0.0.1"\n'
                          f'    port: "{one.port}"\n    labels: {{"pool": "a"}}\n'
                           for one in servers)
        head = "# Written by front_file.py, which replaces it.\nendpoints:"
        return head + ("\n" + entries if entries else " []\n")

    def test_lists_the_servers_that_take_requests(self):
        self.make().round()
        self.assertEqual(self.out.read_text(), self.listing(*self.servers))
        self.assertEqual(stat.S_IMODE(self.out.stat().st_mode), 0o644)
        self.assertEqual(len(self.said), 2)

    def test_a_server_that_drains_leaves_at_once_and_comes_back(self):
        file = self.make()
        file.round()
        self.servers[0].status = 503
        file.round()
        self.assertEqual(self.out.read_text(), self.listing(self.servers[1]))
        self.assertEqual(self.said[-1], f"{self.servers[0].address} takes no requests: it leaves")
        self.servers[0].status = 200
        file.round()
        self.assertEqual(self.out.read_text(), self.listing(*self.servers))

    def test_a_dead_server_leaves_after_some_checks(self):
        file = self.make("--fall", "3")
        file.round()
        self.servers[0].stop()
        self.servers[0].stop = lambda: None
        for check in range(1, 5):
            file.round()
            left = self.servers if check < 3 else self.servers[1:]
            self.assertEqual(self.out.read_text(), self.listing(*left), check)

    def test_a_server_that_hangs_leaves_and_holds_up_nobody(self):
        self.servers[0].goes_on.clear()
        self.make("--fall", "1", "--timeout", "0.1").round()
        self.assertEqual(self.out.read_text(), self.listing(self.servers[1]))

    def test_without_servers_the_list_is_empty(self):
        for server in self.servers:
            server.status = 503
        self.make().round()
        self.assertEqual(self.out.read_text(), self.listing())

    def test_the_file_is_replaced_only_when_something_changes_or_it_is_gone(self):
        file = self.make()
        file.round()
        before = self.out.stat().st_ino
        file.round()
        self.assertEqual(self.out.stat().st_ino, before)
        self.out.unlink()
        file.round()
        self.assertEqual(self.out.read_text(), self.listing(*self.servers))

    def test_a_file_that_cannot_be_written_is_tried_again(self):
        file = self.make()
        self.folder.rmdir()
        with self.assertRaises(OSError):
            file.round()
        self.folder.mkdir()
        file.round()
        self.assertEqual([one.name for one in self.folder.iterdir()], ["endpoints.yaml"])


class OptionsTest(unittest.TestCase):
    def refused(self, parse, text: str) -> str:
        with self.assertRaises(argparse.ArgumentTypeError, msg=text) as raised:
            parse(text)
        return str(raised.exception)

    def test_servers_are_ipv4_addresses_with_ports(self):
        self.assertEqual(front_file.servers_of("10.0.0.1:8080,10.0.0.1:8081"),
                         ["10.0.0.1:8080", "10.0.0.1:8081"])
        for port in ("0", "65536", "-1", "8080x", "", " 80"):
            self.assertIn("65535", self.refused(front_file.servers_of, f"10.0.0.1:{port}"))
        for text in ("localhost:80", "[::1]:80", "10.0.0:80", "10.0.0.1.2:80", ":80", "10.0.0.1",
                     ""):
            self.assertIn("IPv4", self.refused(front_file.servers_of, text))
        self.assertIn("twice", self.refused(front_file.servers_of, "10.0.0.1:80,10.0.0.1:80"))

    def test_labels_are_quoted(self):
        labels = dict(map(front_file.label_of, ['a=b="c"', "llm-d.ai/role=x: y"]))
        endpoints = front_file.Endpoints(["10.0.0.1:80"], 1)
        endpoints.update({"10.0.0.1:80": front_file.OK})
        self.assertIn('    labels: {"a": "b=\\"c\\"", "llm-d.ai/role": "x: y"}\n',
                      endpoints.yaml(labels))
        for text in ("a", "=b"):
            self.assertIn("KEY=VALUE", self.refused(front_file.label_of, text))
