"""Tests of the attacks, the second client, the checks and page of `make abuse`, without Cairn."""

import re
import socket
import time
import unittest
from dataclasses import replace
from pathlib import Path

from abuse import attacks, fields, many, page, peers, run, second_client, wire

ROOT = Path(__file__).resolve().parents[2]
# Other names of routes that are attacked, and routes that take no text, or only a known name.
NO_TEXT = {"/chat/completions", "/completions", "/embeddings", "/embedding", "/v1/rerank",
           "/v2/rerank", "/reranking", "/v1/reranking", "/models/load", "/models/unload",
           "/lora-adapters", "/api/show", "/api/pull", "/api/push", "/api/create", "/api/copy",
           "/api/blobs/{id}", "/cairn/cache/flush", "/cairn/drain", "/cairn/cache/checkpoints/{id}",
           "/v1/responses/{id}/cancel"}
TINY = wire.Scale(text_bytes=64, connections=4, senders=1, repeat_s=0, hold_s=0.1, limit_s=5,
                  share=0.01)
LONG_S = 60  # no test waits for it
RESULT = run.Result(group="Connections", title="a or b", server="cairn",
                    statuses={"400": 3}, words="", let_in=[], slowest_s=0.1, before_ms=[2.0, 4.0],
                    beside_ms=[6.0, 30.0], beside_failed={}, rss_mib=[10, 30, 12], health_s=0.0,
                    back_s=0.5, usual_answer="stones", answer="stones")


def read_request(link):
    """All of it: bytes that nobody read would reset the connection, and the answer with it."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += link.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    while length and len(body) < int(length.group(1)):
        body += link.recv(1 << 16)


def answering(answer: bytes):
    def serve(link):
        read_request(link)
        link.sendall(answer)
    return serve


class Attacks(unittest.TestCase):
    def test_every_route_that_takes_a_text_is_attacked(self):
        text = (ROOT / "docs" / "openapi.yaml").read_text().partition("\ncomponents:")[0]
        posts = {route for route, rest in re.findall(r"^  (/\S*):\n((?:    .*\n|\n)*)", text, re.M)
                 if "    post:\n" in rest}
        attacked = {field.route.partition("?")[0].replace("/slots/0", "/slots/{id}")
                    for field in fields.all_fields()}
        self.assertGreater(len(posts), 20)
        self.assertEqual(posts - attacked - NO_TEXT, set())
        self.assertEqual(attacked - posts, set())
        self.assertEqual(NO_TEXT - posts, set())

    def test_every_field_has_the_text(self):
        for field in fields.all_fields():
            aim = wire.Aim(1, "k", True, "m")
            body = wire.request_bytes(aim, field.route, field.body("zebra" * 4))
            self.assertTrue(b"zebra" in body or b"AAAA" in body, field.title)

    def test_the_short_form_leaves_out_no_request_that_is_refused(self):
        whole = [attack for attack in attacks.all_attacks(TINY, False) if attack.refused]
        short = [attack for attack in attacks.all_attacks(TINY, True) if attack.refused]
        count = lambda found: sum(max(1, len(attack.requests)) for attack in found)  # noqa: E731
        self.assertEqual(count(whole), count(short))
        self.assertLess(len(short), len(whole) / 2)

    def test_titles_are_different(self):
        titles = [attack.title for attack in attacks.all_attacks(TINY, False)]
        self.assertEqual(len(titles), len(set(titles)))

    def test_lists_are_as_deep_as_they_say(self):
        self.assertEqual(many.nested(3, "[", "1", "]"), b"[[[1]]]")
        deep = {name: body for name, _, _, body in many.DEEP}
        self.assertIn(b'"x": {"items":{"items":{}}}', deep["deep: a schema"](2))

    def test_a_marker_is_the_one_that_cairn_computes(self):
        marker = many.marker_in_cairn(b"stone")
        self.assertRegex(marker, "^<__media__[0-9a-f]{32}__>$")


class Wire(unittest.TestCase):
    def test_a_refusal_is_read_although_the_body_is_not_taken(self):
        def refuse(link):
            link.recv(100)
            link.sendall(b"HTTP/1.1 413 x\r\n\r\n{\"error\":{\"message\":\"too long\"}}")
            link.shutdown(socket.SHUT_WR)
            time.sleep(LONG_S)
        server = wire.Listener(refuse)
        aim = wire.Aim(server.port, "key", True, "m")
        outcome = wire.repeat(aim, TINY, [("x", wire.request_bytes(aim, "/", b"a" * (8 << 20)))])
        server.close()
        self.assertEqual(dict(outcome.statuses), {"413": 1})
        self.assertEqual((outcome.words, outcome.let_in), ("too long", []))

    def test_a_request_that_is_answered_is_named(self):
        server = wire.Listener(answering(b"HTTP/1.1 200 OK\r\n\r\n{}"))
        aim = wire.Aim(server.port, "key", True, "m")
        outcome = wire.repeat(aim, TINY, [("first", wire.request_bytes(aim, "/", {}))])
        server.close()
        self.assertEqual(outcome.let_in, ["first"])

    def test_refusals_are_no_faults_and_faults_no_refusals(self):
        for status in ("400", "404", "413", "429", "501", "503", wire.CLOSED):
            self.assertTrue(wire.is_refusal(status) and not wire.is_fault(status), status)
        for status in ("200", "500", "504", wire.NO_ANSWER, wire.LEFT):
            self.assertFalse(wire.is_refusal(status), status)
        self.assertTrue(wire.is_fault("500"))

    def test_held_connections_are_counted_by_their_end(self):
        turns = iter(range(100))

        def serve(link):
            link.recv(3)
            if next(turns) % 2 == 0:
                link.sendall(b"HTTP/1.1 503 x\r\n\r\n")
                return
            time.sleep(LONG_S)
        server = wire.Listener(serve)
        crowd = wire.Crowd(server.port, 4, b"GET")
        end = time.monotonic() + LONG_S
        while len(crowd.links()) > 2 and time.monotonic() < end:
            crowd.read(100)
            time.sleep(0.01)
        outcome = crowd.leave()
        server.close()
        self.assertEqual(dict(outcome.statuses), {"503": 2, wire.LEFT: 2})


class Peers(unittest.TestCase):
    def test_the_store_answers_every_command_with_its_reply(self):
        store = peers.HostileStore("lists in lists")
        with socket.create_connection(("127.0.0.1", store.port)) as link:
            link.sendall(b"*1\r\n$4\r\nPING\r\n")
            seen = b""
            while piece := link.recv(1 << 16):
                seen += piece
        store.close()
        self.assertEqual(seen, b"*1\r\n" * 200_000)
        self.assertEqual(store.asked, 1)

    def test_greetings_have_the_length_that_the_protocol_wants(self):
        self.assertEqual(len(peers.GREETING), 64)
        ready = peers.ready_command(b"SUB")
        self.assertEqual(ready[1], len(ready) - 2)


class SecondClient(unittest.TestCase):
    def _chat(self, answer: bytes, limit_s: float = 5):
        server = wire.Listener(answering(answer) if answer else lambda link: time.sleep(LONG_S))
        try:
            return second_client.chat(server.port, "key", 1, True, limit_s)
        finally:
            server.close()

    def test_times_the_first_token(self):
        seen = self._chat(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
                          b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'
                          b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n')
        self.assertEqual(seen.status, "200")
        self.assertGreater(seen.first_ms, 0)

    def test_says_why_there_is_none(self):
        self.assertEqual(self._chat(b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n").status, "503")
        self.assertEqual(self._chat(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").status, "cut")
        self.assertEqual(self._chat(b"", limit_s=0.1).status, "late")
        self.assertEqual(second_client.chat(1, "key", 1, False, 1).status, "closed")

    def test_chats_until_it_is_told_to_stop(self):
        client = second_client.SecondClient()
        client.begin(1, "key", False, 1)
        seen = client.end()
        client.stop()
        self.assertGreaterEqual(len(seen), 1)


class Checks(unittest.TestCase):
    REFUSED = attacks.Attack("Connections", "a or b", refused=True)

    def _faults(self, **changed) -> str:
        return " ".join(run.faults_of(self.REFUSED, replace(RESULT, **changed)))

    def test_an_attack_that_changes_nothing_has_no_fault(self):
        self.assertEqual(self._faults(), "")
        self.assertEqual(self._faults(back_s=None, beside_ms=[9e9], beside_failed={"late": 3}), "",
                         "a time is no fault")

    def test_each_fault_is_named(self):
        self.assertIn("the process ended (signal 11)", self._faults(ended="signal 11"))
        self.assertIn("/health", self._faults(health_s=None))
        self.assertIn("'moss' and not 'stones'", self._faults(answer="moss"))
        self.assertIn("None", self._faults(answer=None))
        self.assertIn("fault of the server", self._faults(statuses={"500": 1}))
        self.assertIn("not refused", self._faults(statuses={"200": 1}, let_in=["stop"]))


class Page(unittest.TestCase):
    FACTS = {"short": True, "minutes": 1, "date": "2000-01-01", "cores": 2, "processor": "one",
             "threads": 1, "load": 0.5, "context": 4096, "slots": 4, "cairn": "cairn 0",
             "peer": "b1"}

    def test_has_both_servers_in_a_row(self):
        other = replace(RESULT, server="llama-server", ended="signal 11", beside_ms=[],
                        beside_failed={"closed": 2}, back_s=None)
        text = page.page([RESULT, other], self.FACTS)
        self.assertIn("| a or b | 400 × 3 | 3.0 → 18 ms (× 6.0) | 30 ms | +20, then +2 MiB | "
                      "0.5 s | 400 × 3; **ended (signal 11)** | 3.0 → none | closed × 2 | - | "
                      "- |", text)
        self.assertIn("- llama-server: its process ended in 1 of 1 attacks,",
                      " ".join(text.split()))
        self.assertNotIn("Where Cairn failed", text)

    def test_lists_what_failed(self):
        text = page.page([replace(RESULT, faults=["/health was not answered"])], self.FACTS)
        self.assertIn("## Where Cairn failed\n\n- a or b: /health was not answered\n", text)

    def test_little_noise_is_no_slowdown(self):
        self.assertFalse(page.is_slowed(replace(RESULT, before_ms=[1.0], beside_ms=[19.0])))
        self.assertTrue(page.is_slowed(replace(RESULT, before_ms=[10.0], beside_ms=[31.0])))
        self.assertFalse(page.is_slowed(replace(RESULT, before_ms=[10.0], beside_ms=[29.0])))
        self.assertTrue(page.is_slowed(replace(RESULT, beside_ms=[])))
