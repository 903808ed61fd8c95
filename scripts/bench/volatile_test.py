"""Tests of the clients and the page of volatile.py, without a model."""

import contextlib
import io
import unittest
import unittest.mock
from pathlib import Path
from types import SimpleNamespace

from bench import volatile as bench


class FakeServer:
    """Prefills a token a message, and has the rest."""

    def __init__(self, *_):
        self.asked = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def post(self, path: str, body: dict) -> dict:
        self.asked.append(body["messages"])
        count = len(body["messages"])
        return {"timings": {"prompt_n": count, "cache_n": 100},
                "choices": [{"message": {"content": f"answer {len(self.asked)}"}}]}


def settings(**more) -> SimpleNamespace:
    return SimpleNamespace(model=Path("m.gguf"), work=Path("/tmp"), turns=3, steps=2, seconds=60,
                           **more)


def measured(args, plays: list, begin_s: float = 0.0, times=lambda: 0.0) -> dict:
    servers = [(name, [], Path("/")) for name in ("off", "late", "peer")]
    with unittest.mock.patch.object(bench, "Server", FakeServer), \
            unittest.mock.patch.object(bench, "servers_for", lambda _: servers), \
            unittest.mock.patch.object(bench.time, "monotonic", times), \
            contextlib.redirect_stdout(io.StringIO()):
        return bench.measured(args, plays, begin_s)


class VolatileTest(unittest.TestCase):
    def test_the_turns_of_a_conversation_have_the_answers_before_them(self):
        server = FakeServer()
        bench.play(server, "home", False, 3)
        self.assertEqual([len(messages) for messages in server.asked], [2, 4, 6])
        last = server.asked[-1]
        self.assertEqual([message["content"] for message in last if message["role"] == "assistant"],
                         ["answer 1", "answer 2"])
        self.assertNotEqual(server.asked[0][0], last[0], "the clock goes on")
        self.assertEqual(server.asked[0][1], last[1])

    def test_a_loop_grows_by_a_call_and_its_result(self):
        server = FakeServer()
        bench.play(server, "countdown", True, 3)
        self.assertEqual([len(messages) for messages in server.asked], [2, 4, 6])
        self.assertEqual(server.asked[-1][-1]["role"], "tool")

    def test_no_play_begins_as_another_one(self):
        begun = [str(messages[0]) for client, loop in bench.PLAYS
                 for messages in {str(each[0]): each for each in
                                  bench.requests(client, loop, 20 if loop else 10)}.values()]
        self.assertEqual(len(begun), len(set(begun)))

    def test_each_front_but_plain_changes(self):
        for client in bench.FRONTS:
            sent = [messages[:2] for messages in bench.requests(client, False, 10)]
            self.assertEqual(len({str(each) for each in sent}) == 1, client == "plain", client)

    def test_the_page_has_a_row_for_each_client(self):
        plays = [("home", False), ("countdown", True)]
        text = bench.page(settings(), plays, measured(settings(), plays), "b1")
        self.assertIn("| home, turns | 3 | 312 | 12 | 12 | 12 | 96.2 % |", text)
        self.assertIn("| countdown, tool calls | 2 |", text)
        self.assertNotIn("Left out", text)

    def test_what_does_not_fit_the_time_is_left_out_and_named(self):
        clock = iter(range(0, 1000, 8))
        plays = [("home", False), ("date", False), ("plain", False)]
        figures = measured(settings(), plays, 0.0, lambda: next(clock))
        text = bench.page(settings(), plays, figures, "b1")
        self.assertIn("| home, turns |", text)
        self.assertNotIn("| plain, turns |", text)
        self.assertIn("Left out, for want of time: plain.", text)


if __name__ == "__main__":
    unittest.main()
