"""Tests of the scenarios, the player, the bounds and the configuration of `make fleet-test`,
without Cairn; HAProxy routes in some of them, where it is installed."""

import http.client
import http.server
import json
import tempfile
import threading
import time
import unittest
from pathlib import Path
from types import SimpleNamespace

from fleet import fronts, player, run, scenarios, topology

ROOT = Path(__file__).resolve().parents[2]
SIZES = scenarios.Sizes(headers=3, header_tokens=50, conversations=6, turns=3, turn_tokens=20)


class FakeFleet(http.server.BaseHTTPRequestHandler):
    """Both APIs. `plan` has what becomes of the next requests: ok, refuse, cut or drop."""

    protocol_version = "HTTP/1.1"
    plan: list = []
    bodies: list = []
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with FakeFleet.lock:
            FakeFleet.bodies.append((self.path, dict(self.headers), body))
            fate = FakeFleet.plan.pop(0) if FakeFleet.plan else "ok"
        self.close_connection = True
        if fate == "drop":
            self.connection.shutdown(2)
            return
        self.send_response(503 if fate == "refuse" else 200)
        self.send_header("x-served-by", "b")
        self.send_header("Connection", "close")
        self.end_headers()
        if fate == "refuse":
            self.wfile.write(b"full")
            return
        for event in self._events(fate):
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")

    def _events(self, fate: str):
        if self.path == "/v1/messages":
            events = [{"type": "content_block_delta", "delta": {"text": "answer"}},
                      {"type": "message_stop"}]
        else:
            events = [{"choices": [{"delta": {"content": "answer"}}]},
                      {"choices": [{"delta": {}, "finish_reason": "length"}]}]
        return events[:1] if fate == "cut" else events


class PlayerTest(unittest.TestCase):
    def setUp(self):
        FakeFleet.plan, FakeFleet.bodies = [], []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeFleet)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.player = player.Player(*self.server.server_address, clients=2)
        player.RETRY_S = 0

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_plays_every_turn_of_both_apis_under_the_session(self):
        conversations = scenarios.make("tool-loop", SIZES, "both", 1)
        half = []
        self.player.play(conversations, lambda: half.append(len(self.player.attempts)))
        turns = sum(len(each.turns) for each in conversations)
        self.assertEqual(len(self.player.attempts), turns)
        self.assertEqual([each.error for each in self.player.attempts], [""] * turns)
        self.assertTrue(turns // 2 <= half[0] <= turns)
        sessions = {"session-id": set(), "x-session-affinity": set(),
                    "x-claude-code-session-id": set()}
        for path, headers, _ in FakeFleet.bodies:
            for name, found in sessions.items():
                if name in headers:
                    found.add(headers[name])
                    self.assertEqual(name == "x-claude-code-session-id", path == "/v1/messages")
        self.assertEqual(set.union(*sessions.values()), {each.session for each in conversations})
        self.assertTrue(all(sessions.values()))

    def test_each_turn_repeats_what_was_said(self):
        for api in (scenarios.CHAT, scenarios.MESSAGES):
            FakeFleet.bodies = []
            [conversation] = scenarios.make("chats", SIZES, api, 1)[:1]
            self.player.play([conversation])
            bodies = [body["messages"] for _, _, body in FakeFleet.bodies]
            for before, after in zip(bodies, bodies[1:]):
                self.assertEqual(after[:len(before)], before)
            said = json.dumps(bodies[-1])
            for turn in conversation.turns:
                self.assertIn(turn, said)
            self.assertEqual(said.count("answer"), len(conversation.turns) - 1)

    def test_a_failed_turn_is_played_again(self):
        FakeFleet.plan = ["refuse", "cut", "drop"]
        self.player.play(scenarios.make("chats", SIZES, scenarios.MESSAGES, 1)[:1])
        first = self.player.attempts[:4]
        self.assertEqual([each.error == "" for each in first], [False, False, False, True])
        self.assertEqual([each.began for each in first], [False, True, False, True])
        self.assertEqual(first[0].status, 503)
        self.assertEqual(first[1].server, "b")

    def test_a_turn_that_always_fails_ends_the_play(self):
        FakeFleet.plan = ["refuse"] * 100
        with self.assertRaises(RuntimeError):
            self.player.play(scenarios.make("chats", SIZES, scenarios.CHAT, 1))

    def test_an_event_that_fails_ends_the_play(self):
        def fail():
            raise RuntimeError("no")
        with self.assertRaises(RuntimeError):
            self.player.play(scenarios.make("chats", SIZES, scenarios.CHAT, 1), fail)


    def test_turns_that_were_added_are_played_and_no_others(self):
        conversations = scenarios.make("chats", SIZES, scenarios.CHAT, 1)
        self.player.play(conversations, pause_s=0.01)
        played = len(self.player.attempts)
        for conversation in conversations:
            conversation.turns.append("one more")
        again = player.Player(*self.player.address, clients=1)
        again.play(conversations)
        self.assertEqual(played, SIZES.conversations * SIZES.turns)
        self.assertEqual([each.turn for each in again.attempts],
                         [SIZES.turns] * SIZES.conversations)
        self.assertEqual(again.last_servers(), {each.number: "b" for each in conversations})

    def test_servers_that_a_front_names_by_address_get_their_place(self):
        self.player.attempts = [player.Attempt("s", 0, 0, scenarios.CHAT, server="10.0.0.1:80"),
                                player.Attempt("s", 0, 1, scenarios.CHAT, server="a")]
        self.player.name_servers([SimpleNamespace(place="c", address="10.0.0.1:80")])
        self.assertEqual([each.server for each in self.player.attempts], ["c", "a"])


class ScenariosTest(unittest.TestCase):
    def test_depend_on_the_seed_alone(self):
        for name in scenarios.SCENARIOS:
            self.assertEqual(scenarios.make(name, SIZES, "both", 1),
                             scenarios.make(name, SIZES, "both", 1))
            self.assertNotEqual(scenarios.make(name, SIZES, "both", 1),
                                scenarios.make(name, SIZES, "both", 2))

    def test_sub_agents_share_the_session_of_their_main_conversation(self):
        conversations = scenarios.make("sub-agents", SIZES, "both", 1)
        self.assertEqual(len({each.session for each in conversations}), SIZES.conversations // 3)
        for session in {each.session for each in conversations}:
            own = [each for each in conversations if each.session == session]
            self.assertEqual(len(own), 3)
            self.assertEqual(len({each.api for each in own}), 1)


class HaproxyTest(unittest.TestCase):
    servers = [SimpleNamespace(place="a", address="10.1.1.1:80"),
               SimpleNamespace(place="b", address="10.1.1.2:80")]
    example = (ROOT / "examples" / "fleet" / "haproxy.cfg").read_text()

    def test_the_example_gets_other_addresses_and_stays_as_it_is(self):
        config = fronts.Haproxy("h").configuration(self.example, "10.1.1.9:81", self.servers)
        self.assertIn("  bind 10.1.1.9:81\n", config)
        self.assertIn("  server a 10.1.1.1:80\n  server b 10.1.1.2:80\n", config)
        self.assertEqual(config.count("\n  server "), 2)
        self.assertIn("balance hash var(txn.session)", config)

    def test_another_way_of_balancing_replaces_the_hash(self):
        config = fronts.Haproxy("h", "roundrobin").configuration(self.example, "x:1", self.servers)
        self.assertIn("  balance roundrobin\n", config)
        self.assertNotIn("hash-type", config)

    def test_an_example_without_servers_is_an_error(self):
        with self.assertRaises(RuntimeError):
            fronts.Haproxy("h").configuration("  bind :8080\n", "x:1", self.servers)


class QuietServer(http.server.ThreadingHTTPServer):
    """HAProxy ends the connections of its checks by a reset."""

    def handle_error(self, _request, _address):
        pass


class NamedServer(http.server.BaseHTTPRequestHandler):
    """Answers with its server's name, or as its server's `fate` says."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status: int, body: bytes = b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(503 if self.server.fate == "drain" else 200)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.fate == "drop":
            self.close_connection = True
            self.connection.shutdown(2)
            return
        refuses = self.server.fate in ("refuse", "drain")
        self.answer(503 if refuses else 200, self.server.place.encode())


@unittest.skipIf(fronts.Haproxy.missing(), fronts.Haproxy.missing())
class HaproxyRoutingTest(unittest.TestCase):
    """The example configuration on a real HAProxy, before servers that say their names."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.servers = []
        for place in "abcd":
            server = QuietServer(("127.0.0.1", 0), NamedServer)
            server.place, server.fate = place, "answer"
            server.address = f"127.0.0.1:{server.server_address[1]}"
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.servers.append(server)
        named = [SimpleNamespace(place=server.place, address=server.address)
                 for server in self.servers]
        self.front = fronts.Haproxy("haproxy")
        self.where = self.front.start(named, fronts.Environment(
            topology.Loopback("a test"), Path(self.folder.name), ROOT))

    def tearDown(self):
        self.front.stop()
        for server in self.servers:
            server.shutdown()
            server.server_close()
        self.folder.cleanup()

    def ask(self, headers: dict, path: str = "/v1/messages", body: str = "{}") -> tuple[int, str]:
        connection = http.client.HTTPConnection(*self.where, timeout=30)
        connection.request("POST", path, body, headers)
        reply = connection.getresponse()
        answer = reply.read().decode()
        connection.close()
        return reply.status, answer

    def test_a_session_stays_on_its_server_and_sessions_spread(self):
        for name in ("x-claude-code-session-id", "session-id", "x-session-affinity",
                     "x-session-id", "authorization", "x-api-key"):
            chosen = [self.ask({name: f"name-{number}"}) for number in range(24)]
            self.assertEqual(chosen, [self.ask({name: f"name-{number}"}) for number in range(24)])
            self.assertGreater(len(set(chosen)), 2, name)

    def test_the_session_counts_more_than_the_key(self):
        alone = self.ask({"session-id": "s"})
        for number in range(8):
            self.assertEqual(self.ask({"session-id": "s", "authorization": f"k{number}"}), alone)

    def test_a_prompt_cache_key_is_a_session_where_no_header_names_one(self):
        filler = "x" * 200000
        def chosen(number: int, **headers):
            body = json.dumps({"input": filler, "prompt_cache_key": f"key-{number}"})
            return self.ask({"authorization": "Bearer one", **headers}, "/v1/responses", body)
        by_key = [chosen(number) for number in range(24)]
        self.assertEqual(by_key, [chosen(number) for number in range(24)])
        self.assertGreater(len(set(by_key)), 2)
        named = {"session-id": "s"}
        self.assertEqual(len({chosen(number, **named) for number in range(8)}), 1)
        # Without one the API key counts, as ever.
        alone = self.ask({"authorization": "Bearer one"}, "/v1/responses", '{"input": "x"}')
        for body in ("{}", '{"prompt_cache_key": null}', "no JSON"):
            self.assertEqual(self.ask({"authorization": "Bearer one"}, "/v1/responses", body), alone)

    def test_a_server_that_refuses_or_drops_requests_costs_no_answer(self):
        for fate in ("refuse", "drop"):
            self.servers[1].fate = fate
            answers = [self.ask({"session-id": f"{fate}-{number}"}) for number in range(40)]
            self.assertEqual({status for status, _ in answers}, {200}, fate)
            self.assertNotIn("b", {name for _, name in answers})

    def test_sessions_of_a_draining_server_get_another_one_and_stay_there(self):
        names = [f"drain-{number}" for number in range(24)]
        own = [name for name in names if self.ask({"session-id": name})[1] == "b"]
        self.assertTrue(own)
        self.servers[1].fate = "drain"
        log = Path(self.folder.name) / "haproxy.log"
        end = time.monotonic() + 30
        while "Server cairn/b is DOWN" not in log.read_text() and time.monotonic() < end:
            self.assertEqual(self.ask({"session-id": own[0]})[0], 200)
        chosen = [self.ask({"session-id": name}) for name in own]
        self.assertEqual(chosen, [self.ask({"session-id": name}) for name in own])
        self.assertNotIn("b", {place for _, place in chosen})

    def test_what_concerns_one_server_is_not_asked_of_the_front(self):
        for path in ("/metrics", "/slots", "/slots/0?action=erase", "/cairn/drain"):
            self.assertEqual(self.ask({"session-id": "s"}, path)[0], 404, path)


class BoundsTest(unittest.TestCase):
    @staticmethod
    def play(**values):
        return run.Play("session hash", "chats", "chat", values.pop("event", ""), **values)

    def test_hold_up_to_their_value(self):
        self.assertEqual(self.play(ratio=1.45, ratio_max=1.45).misses(), [])
        self.assertIn("1.46", self.play(ratio=1.46, ratio_max=1.45).misses()[0])
        self.assertEqual(self.play(ratio=9, ratio_max=None).misses(), [])

    def test_only_streams_of_the_lost_server_may_fail(self):
        self.assertEqual(self.play(event="killed", failed=2, cut=2).misses(), [])
        self.assertIn("1 requests", self.play(event="killed", failed=2, cut=1).misses()[0])
        for event in ("drained", "front restarted"):
            self.assertIn("1 requests", self.play(event=event, failed=1).misses()[0])
        self.assertIn("front_file.py", self.play(event="drained", front_file="no").misses()[0])

    def test_a_team_must_not_leave_all_work_to_one_server(self):
        self.assertEqual(self.play(busiest_share=0.75, busiest_max=0.75).misses(), [])
        self.assertIn("100%", self.play(busiest_share=1, busiest_max=0.75).misses()[0])
        attempts = [player.Attempt("s", 0, 0, scenarios.CHAT, server=server) for server in "aaab"]
        play = self.play()
        run.Fleet._sum_up(play, SimpleNamespace(attempts=attempts))
        self.assertEqual(play.busiest_share, 0.75)

    def test_conversations_of_one_session_have_servers_of_their_own(self):
        attempts = [player.Attempt("s", number, turn, scenarios.CHAT, server=server)
                    for turn in range(2) for number, server in enumerate("ab")]
        play = self.play()
        run.Fleet._sum_up(play, SimpleNamespace(attempts=attempts))
        self.assertEqual((play.turns, play.moved), (4, 0))
        attempts[-1].server = "a"
        play = self.play()
        run.Fleet._sum_up(play, SimpleNamespace(attempts=attempts))
        self.assertEqual((play.turns, play.moved), (4, 1))

    def test_after_the_quiet_every_turn_finds_its_server_and_its_history(self):
        quiet = {"quiet_turns": 24, "turn_tokens": 400}
        self.assertEqual(self.play(quiet_tokens_per_turn=450, **quiet).misses(), [])
        self.assertIn("1 turns", self.play(quiet_moved=1, **quiet).misses()[0])
        self.assertIn("2000 tokens", self.play(quiet_tokens_per_turn=2000, **quiet).misses()[0])

    def test_the_page_has_a_row_for_each_play(self):
        plays = [self.play(read_tokens=1234, ratio=1, turns=3),
                 self.play(event="killed", ratio_max=1.35, failed=2, cut=2)]
        page = run.markdown(plays, ["session hash: haproxy is not installed"], "make fleet-test",
                               "network namespaces",
                               SimpleNamespace(clients=6, model_text="a made model"))
        self.assertIn("| chats | chat | session hash |  | 1,234 | 1.00 |  | 3 | 0 | 0 |", page)
        self.assertIn("| 1.35 | 0 | 0 | 2 (2 cut) |", page)
        self.assertIn("Skipped: session hash: haproxy is not installed.", page)
