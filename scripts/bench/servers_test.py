"""Tests of what starts servers and reads their words, on a program that answers as they do."""

import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from bench.llama_flags import spellings
from bench.servers import Server, free_port, restart_command

PROGRAM = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ok"}' if self.path == "/health" else b"a_total 7\\n")
    def log_message(self, *_):
        pass
print("started", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[-1])), Handler).serve_forever()
"""


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class AServer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log_path = Path(folder.name) / "one.log"

    def started(self, program: str) -> Server:
        return Server([sys.executable, "-c", program], self.log_path.parent, self.log_path,
                      poll_s=0.01)

    def test_is_ready_and_ends_with_its_block(self):
        with self.started(PROGRAM) as server:
            self.assertEqual(server.metric("a_total"), 7)
            self.assertGreater(server.memory_mib(), 1)
        self.assertFalse(lives(server.pid))

    def test_is_restarted_by_the_command_of_another_program(self):
        with self.started(PROGRAM) as server, restart_command(server) as command:
            before = server.pid
            subprocess.run(command, shell=True, check=True)
            self.assertEqual(server.metric("a_total"), 7)
            self.assertNotEqual(server.pid, before)
            self.assertFalse(lives(before))
        self.assertEqual(self.log_path.read_text(), "started\n" * 2)

    def test_that_does_not_start_ends_the_bench_and_names_its_log(self):
        with self.assertRaises(SystemExit) as caught:
            self.started("import sys; sys.exit('no model')")
        self.assertIn("one did not start", str(caught.exception))
        self.assertIn("no model", self.log_path.read_text())

    def test_has_a_port_that_nobody_listens_on(self):
        with socket.socket() as probe:
            self.assertNotEqual(probe.connect_ex(("127.0.0.1", free_port())), 0)


class AHelp(unittest.TestCase):
    def test_names_spellings_with_the_number_of_their_values(self):
        self.assertEqual(spellings("----- common\n-h,    --help, --usage   print this\n"
                                   "-t,    --threads N   how many\n  -x in a text\n"
                                   "--range START END\n      so many\n"),
                         ["-h 0", "--help 0", "--usage 0", "-t 1", "--threads 1", "--range 2"])
