"""Tests of the conversations, the clients and the page of tiers.py, without a model."""

import contextlib
import json
import os
import threading
import unittest
import unittest.mock
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

from bench import tiers as bench
from bench import tiers_play as plays
from bench.pages import percentile
from bench.servers import Peer
from bench.tiers_page import page

SHAPE = plays.Shape(conversations=5, tokens=200, new_tokens=50, answer_tokens=4, rounds=2, beside=0,
                    clients=3, slots=2)
plays.QUIET_S = 0.01
SIZES = plays.Sizes(kv_bytes_per_token=100, snapshot_bytes=5000)
AROUND = 10  # tokens of the fake template around each message


def tokens_of(messages: list) -> int:
    return sum(len(message["content"]) + AROUND for message in messages)


class FakeServer:
    """Answers in a stream, a token a byte, and prefills twice as much as is new. `fault`: what
    happens to each request."""

    def __init__(self, fault: str = ""):
        self.fault, self.seen, self.asked = fault, {}, 0
        self.log_path = Path("fake.log")
        handler = type("Handler", (BaseHTTPRequestHandler,),
                       {"do_POST": lambda handler: self.answer(handler),
                        "log_message": lambda *_: None})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def metric(self, name: str) -> float:
        return {"cairn_prefetched_tokens_total": 0, "cairn_disk_written_bytes_total": 4000,
                "cairn_disk_read_bytes_total": 0}[name]

    def answer(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.asked += 1
        handler.send_response(503 if self.fault == "refused" else 200)
        handler.end_headers()
        with contextlib.suppress(ConnectionError):  # a client that stops reading
            for event in self.events(body):
                handler.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")

    def events(self, body: dict):
        talk, sent = body["messages"][0]["content"], tokens_of(body["messages"])
        yield {"choices": [{"delta": {"role": "assistant", "content": None}}]}
        for _ in range(body["max_tokens"]):
            yield {"choices": [{"delta": {"content": "x"}}]}
        if self.fault == "broken":
            return
        if self.fault == "error":
            yield {"error": {"message": "out of memory"}}
        new = sent - self.seen.get(talk, 0)
        self.seen[talk] = sent + body["max_tokens"]
        yield {"choices": [], "timings": {"prompt_n": 2 * new},
               "usage": {"prompt_tokens": sent, "completion_tokens": body["max_tokens"]}}


class AConversation(unittest.TestCase):
    def test_has_texts_that_no_other_one_has(self):
        texts = [plays.Talk(SHAPE, seed, number).ask()["messages"][at]["content"][:50]
                 for seed in range(3) for number in range(24) for at in (0, 1)]
        self.assertEqual(len(set(texts)), len(texts))

    def test_counts_what_no_earlier_prompt_or_answer_has(self):
        talk = plays.Talk(SHAPE, 0, 0)
        talk.ask()
        self.assertEqual(talk.hear({"content": "yes"}, sent=300, answered=4), 300)
        messages = talk.ask()["messages"]
        self.assertEqual([message["role"] for message in messages],
                         ["system", "user", "assistant", "user"])
        self.assertEqual(messages[2]["content"], "yes")
        self.assertEqual(talk.hear({"content": "no"}, sent=380, answered=4), 76)
        self.assertEqual(talk.tokens, 384)

    def test_fits_into_its_part_of_the_context(self):
        for shape in bench.SHAPES.values():
            talk = plays.Talk(shape, 0, 0)
            for _ in range(1 + shape.rounds + shape.beside):
                messages = talk.ask()["messages"]
                talk.hear({"content": "x" * shape.answer_tokens}, 0, 0)
            self.assertLess(tokens_of(messages) + shape.answer_tokens, shape.room())
            self.assertEqual(shape.context(), shape.slots * shape.room())
            self.assertLess(shape.long_answer() + AROUND * 2, shape.room())


class ARound(unittest.TestCase):
    def test_has_every_conversation_once_in_an_order_of_its_own(self):
        shape = replace(SHAPE, conversations=24)
        orders = [plays.order_of(shape, seed, number) for seed in (0, 1) for number in (0, 1)]
        for order in orders:
            self.assertEqual(sorted(order), list(range(24)))
        self.assertEqual(len(set(map(tuple, orders))), 4)
        self.assertEqual(orders[0], plays.order_of(shape, 0, 0))

    def test_is_played_by_all_clients_and_counted_behind_the_first(self):
        with FakeServer() as server:
            found = plays.play(server, SHAPE, SIZES, seed=1, ours=True, disk=False, beside=False)
            self.assertEqual(server.asked, 15)
            self.assertEqual(found["turns"], 10)
            new = found["turns"] * (len(plays.prompt(50, 0)) + 2 * AROUND)
            self.assertEqual((found["new"], found["prefilled"]), (new, 2 * new))
            self.assertEqual(found["prefetched"], 0)
            self.assertEqual(len(found["first_ms"]), 10)
            self.assertGreater(min(found["first_ms"]), 0)

    def test_sets_what_was_written_against_the_distinct_states(self):
        with FakeServer() as server:
            found = plays.play(server, SHAPE, SIZES, seed=0, ours=True, disk=True, beside=False)
            tokens = sum(server.seen.values())
        self.assertEqual(found["distinct"], tokens * 100 + 5 * 5000)

    def test_fails_with_any_request(self):
        for fault, word in (("refused", "503"), ("broken", "before its end"),
                            ("error", "out of memory")):
            with FakeServer(fault) as server, self.assertRaises(SystemExit) as caught:
                plays.play(server, SHAPE, SIZES, seed=0, ours=True, disk=False, beside=False)
            self.assertIn(word, str(caught.exception))

    def test_fails_when_the_server_is_gone(self):
        with FakeServer() as server:
            pass
        with self.assertRaises(SystemExit):
            plays.play_turn(server, plays.Talk(SHAPE, 0, 0))


class ALongAnswer(unittest.TestCase):
    def test_has_gaps_between_its_pieces_and_none_between_two_answers(self):
        sent = []
        # It ends once a second answer has begun.
        ended = SimpleNamespace(is_set=lambda: server.asked > 1)
        with FakeServer() as server:
            plays.read_long_answers(server, 7, ended, SimpleNamespace(send=sent.append))
        self.assertEqual(sent[0], True)
        self.assertEqual(len(sent), 2)
        self.assertEqual(len(sent[1]), 6)


class Figures(unittest.TestCase):
    def test_a_percentile_is_one_of_the_figures(self):
        figures = list(range(1, 201))
        self.assertEqual(percentile(figures, 0.99), 198)
        self.assertEqual(percentile(figures[::-1], 0.5), 100)
        self.assertEqual(percentile([7], 0.99), 7)

    def test_memory_is_in_whole_mib(self):
        self.assertEqual(SIZES.conversation(1000), 105_000)
        self.assertEqual(SIZES.memory_mib(2, 1000), 1)
        self.assertEqual(SIZES.memory_mib(10, 1000), 2)


def arguments_of(shape) -> SimpleNamespace:
    return SimpleNamespace(shape=shape, cairn=Path("cairn"), work=Path("work"), threads=2,
                           peer=Peer(["llama-server"], Path(".")), model=Path("a.gguf"),
                           ram_mib=512, disk_gib=3, flags=["--codec", "raw"])


class ACommand(unittest.TestCase):
    def setUp(self):
        shape = replace(SHAPE, tokens=10_000 - 3 * (50 + 4 + plays.TEMPLATE_TOKENS), slots=4)
        self.assertEqual(shape.room(), 10_240)
        self.player = bench.Player(arguments_of(shape))

    def command(self, name: str) -> str:
        return " ".join(self.player.command(bench.CONFIGURATIONS[name],
                                            plays.Sizes(1000, 100_000)))

    def test_gives_both_servers_the_same_memory(self):
        for name, mib in (("memory", 512), ("peer", 512), ("two", 20), ("disk", 20),
                          ("peer-two", 20)):
            self.assertIn(f"--parallel 4 --kv-unified --cache-ram {mib}", self.command(name))

    def test_gives_a_disk_to_one_configuration(self):
        self.assertIn("--cache-dir work/cache --cache-disk 3 --codec raw", self.command("disk"))
        for name in ("memory", "two"):
            self.assertIn("--cache-disk 0 --codec raw", self.command(name))
        for name in ("peer", "peer-two"):
            self.assertTrue(self.command(name).endswith("--ctx-checkpoints 256"))


def run_of(prefilled: float, first_ms: float, **others) -> dict:
    return {"turns": 96, "new": 1000, "prefilled": prefilled, "prefetched": 0,
            "first_ms": [first_ms] * 9 + [4 * first_ms], **others}


def results_of(made: bool = True, model: str = "qwen35") -> dict:
    runs = {
        "memory": [run_of(1040, ms, gaps_ms=[1.0, 4.0]) for ms in (100, 200)],
        "two": [run_of(20700, 1000), run_of(20900, 1000)],
        "disk": [run_of(1050, 150, gaps_ms=[1.0, 5.0], written=3000, distinct=2000),
                 run_of(1070, 260, gaps_ms=[1.0, 6.0], written=3400, distinct=2000)],
        "peer": [run_of(1010, 120, gaps_ms=[1.0, 40.0])] * 2}
    facts = {"minutes": 3, "date": "2026-01-02", "cores": 2, "system": "Linux x86_64",
             "processor": "a processor", "memory_gib": 8, "cairn": "cairn 0.1.0", "peer": "0.7.0",
             "repeat": 2, "quick": False, "threads": 2, "load": 0.1}
    return {"model": model, "made": made, "shape": asdict(bench.SHAPES["made"]),
            "sizes": asdict(SIZES), "memory_mib": {"memory": 8192, "two": 11, "disk": 11},
            "titles": {name: bench.CONFIGURATIONS[name].title for name in runs}, "runs": runs,
            "commands": ["cairn serve", "llama-server"], "call": "make bench-tiers", "facts": facts}


class APage(unittest.TestCase):
    def text(self, *models) -> str:
        return page({"models": {each["model"]: each for each in models}})

    def test_has_medians_over_the_seeds_and_ratios_of_the_same_seed(self):
        text = self.text(results_of())
        self.assertIn("| Cairn, memory for two and a disk for all | 1.06 | 205 ms | 1.40 | 1.04 s "
                      "| 1.30 | 1.60 | 5.50 ms | 1.38 |", text)
        self.assertIn("| Cairn, memory for two | 20.8 | 1.00 s | 7.50 | 4.00 s | 5.00 | - | - | "
                      "- |", text)
        self.assertIn("| llama-server, memory for all | 1.01 | ", text)

    def test_says_what_was_asked_with_the_range_of_the_seeds(self):
        text = " ".join(self.text(results_of()).split())
        self.assertIn("a disk for all: **1.06** (1.05 to 1.07); at most 1.05 is asked.", text)
        self.assertIn("over a warm one: **1.38** (1.25 to 1.50); at most 1.3 is asked.", text)
        self.assertIn("Memory for two is 11 MiB.", text)

    def test_counts_prefetched_tokens_as_prefilled(self):
        results = results_of()
        for run in results["runs"]["disk"]:
            run["prefetched"] = 500
        self.assertIn("a disk for all | 1.56 |", self.text(results))

    def test_has_a_section_for_each_model_and_the_made_one_first(self):
        text = self.text(results_of(made=False, model="real"), results_of())
        self.assertLess(text.index("## A made qwen35"), text.index("## real"))
        self.assertIn("the file `real.gguf`", " ".join(text.split()))

    def test_has_no_long_line_but_those_of_tables(self):
        for line in self.text(results_of()).splitlines():
            if not line.startswith("|"):
                self.assertLessEqual(len(line), 100, line)

    def test_says_when_nothing_was_measured(self):
        self.assertIn("No run has been written here yet.", page({"models": {}}))

    def test_of_a_run_without_a_disk_asks_nothing_of_it(self):
        results = results_of()
        del results["runs"]["disk"]
        self.assertNotIn("is asked", self.text(results))


class Settings(unittest.TestCase):
    def test_that_are_unknown_end_the_bench(self):
        with unittest.mock.patch.dict(os.environ, ONLY="disc"):
            with self.assertRaises(SystemExit) as caught:
                bench.arguments(["--quick"])
        self.assertIn("ONLY=disc", str(caught.exception))

    def test_come_from_the_environment_and_from_flags(self):
        with unittest.mock.patch.dict(os.environ, CLIENTS="3", BESIDE="0", TOKENS="", RAM_MIB="9"):
            args = bench.arguments(["--quick", "--rounds", "5"])
        self.assertEqual((args.shape.clients, args.shape.rounds, args.ram_mib), (3, 5, 9))
        self.assertEqual((args.shape.beside, args.shape.tokens),
                         (0, bench.SHAPES["quick"].tokens))
