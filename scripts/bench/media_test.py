"""Tests of the shows, the lower bound and the page of media.py, without a server."""

import re
import struct
import unittest
import zlib
from dataclasses import asdict

from bench import media as bench
from bench import media_shows as shows
from bench.media_page import page

PICTURE_TOKENS = 192


class FakeServer:
    """Cairn's routes that count tokens: one a byte, and the same number for each picture."""

    def post(self, path: str, body: dict) -> dict:
        if path == "/tokenize":
            return {"tokens": list(body["content"].encode())}
        prompt = "".join(f"<{each['role']}>{self._text(each['content'])}"
                         for each in body["messages"]) + "<assistant>"
        if path == "/apply-template":
            return {"prompt": prompt}
        markers = shows.MARKER.findall(prompt)
        text = shows.MARKER.sub("", prompt)
        return {"input_tokens": len(text) + PICTURE_TOKENS * len(markers)}

    @staticmethod
    def _text(content) -> str:
        if isinstance(content, str):
            return content
        return "".join(part["text"] if part["type"] == "text" else
                       "<__media__>"
                       for part in content)


def bounds_of(show) -> list:
    return shows.lower_bounds(show, shows.Units(FakeServer()))


class APicture(unittest.TestCase):
    def test_is_a_whole_png_file(self):
        file = shows.picture(1)
        self.assertEqual(file[:8], b"\x89PNG\r\n\x1a\n")
        names, at = [], 8
        while at < len(file):
            size = struct.unpack(">I", file[at:at + 4])[0]
            named = file[at + 4:at + 8 + size]
            names.append(named[:4])
            self.assertEqual(struct.unpack(">I", file[at + 8 + size:at + 12 + size])[0],
                             zlib.crc32(named))
            if named[:4] == b"IDAT":
                width, height = shows.PICTURE
                self.assertEqual(len(zlib.decompress(named[4:])), height * (1 + 3 * width))
            at += 12 + size
        self.assertEqual(names, [b"IHDR", b"IDAT", b"IEND"])

    def test_differs_from_another_and_is_the_same_each_time(self):
        self.assertEqual(shows.picture(1), shows.picture(1))
        self.assertNotEqual(shows.picture(1), shows.picture(2))


class ALowerBound(unittest.TestCase):
    def test_of_a_first_prompt_is_all_of_it(self):
        self.assertEqual(shows.SeenPrompts().lower_bound([(1, 1), ("picture", 9), (2, 1)]), 11)

    def test_is_what_lies_behind_the_longest_prefix_of_any_prompt(self):
        seen = shows.SeenPrompts()
        seen.add([(1, 1), (2, 1), (3, 1)])
        seen.add([(1, 1), (7, 1)])
        self.assertEqual(seen.lower_bound([(1, 1), (2, 1), (8, 1), (9, 1)]), 2)

    def test_shares_a_picture_whole_or_not_at_all(self):
        seen = shows.SeenPrompts()
        seen.add([(1, 1), ("a", 9), (2, 1)])
        self.assertEqual(seen.lower_bound([(1, 1), ("a", 9), (3, 1)]), 1)
        self.assertEqual(seen.lower_bound([(1, 1), ("b", 9), (2, 1)]), 10)

    def test_is_at_least_the_last_token(self):
        seen = shows.SeenPrompts()
        seen.add([(1, 1), (2, 1), (3, 1)])
        self.assertEqual(seen.lower_bound([(1, 1), (2, 1)]), 1)


class AConversation(unittest.TestCase):
    def setUp(self):
        self.show = shows.conversation()
        self.bounds = bounds_of(self.show)

    def bound(self, phase: str) -> list:
        return [bound for ask, bound in zip(self.show.asks(), self.bounds) if ask.phase == phase]

    def test_counts_a_picture_with_its_tokens(self):
        system, user = self.show.asks()[0].messages
        text = len(system["content"]) + len(user["content"][0]["text"])
        around = len("<system><user><assistant>")
        self.assertEqual(self.bounds[0].sent, text + around + PICTURE_TOKENS)

    def test_needs_each_picture_encoded_once(self):
        self.assertEqual([bound.encoded for bound in self.bound(shows.FIRST_TURNS)],
                         [1, 0, 1, 0, 0, 0])
        self.assertEqual(sum(bound.encoded for bound in self.bounds), 2)

    def test_needs_the_more_the_farther_ahead_it_is_edited(self):
        behind, = self.bound(shows.BEHIND)
        between, = self.bound(shows.BETWEEN)
        before, = self.bound(shows.BEFORE)
        self.assertLess(behind.prefilled + PICTURE_TOKENS, between.prefilled)
        self.assertLess(between.prefilled + PICTURE_TOKENS, before.prefilled)
        self.assertLess(before.prefilled, before.sent - shows.SYSTEM_BYTES // 2)

    def test_needs_one_token_in_its_first_form(self):
        again, = self.bound(shows.AGAIN)
        self.assertEqual(again.prefilled, 1)

    def test_knows_the_answers_that_the_model_is_made_to_give(self):
        turn = self.bound(shows.FIRST_TURNS)[1]
        new = len(self.show.asks()[1].messages[3]["content"]) + len("<user><assistant>")
        self.assertEqual(turn.prefilled, new)


class OtherShows(unittest.TestCase):
    def test_a_question_behind_a_picture_needs_itself_alone(self):
        bounds = bounds_of(shows.questions())
        for bound in bounds[1:]:
            self.assertLess(bound.prefilled, shows.QUERY_BYTES + len("<assistant>") + 1)
            self.assertEqual(bound.encoded, 0)

    def test_what_lies_behind_a_deleted_turn_was_sent_before(self):
        asks = shows.moved().asks()
        contents = [message["content"] for message in asks[shows.TURNS - 1].messages]
        deleted = [message["content"] for message in asks[shows.TURNS].messages]
        gone = [text for text in contents if text not in deleted]
        self.assertEqual(gone, contents[3:5])

    def test_no_answer_breaks_the_grammar_that_forces_it(self):
        for show in (shows.conversation(), shows.restart(), shows.questions(), shows.moved()):
            for ask in show.asks():
                self.assertRegex(ask.answer, r"^[a-z ]+\.$")


def results_of(prefill, encode=lambda who, i: 0) -> dict:
    """Figures of one model with two rounds. `prefill`: tokens by server, show and request."""
    recipe = bench.RECIPES["llama"]
    model = {"recipe": asdict(recipe), "shows": [],
             "bounds": {"shows": {}, "picture_tokens": [PICTURE_TOKENS]}}
    for show in bench.shows_for(recipe):
        bounds = bounds_of(show)
        model["bounds"]["shows"][show.name] = list(map(asdict, bounds))
        runs = {}
        for each in bench.configurations(show, recipe):
            first_token_ms = 10.0 if each.ours else 20.0
            asks = [asdict(bench.Figures(ask.phase, bound.sent,
                                         prefill(each.name, show.name, bound), first_token_ms,
                                         encode(each.name, i)))
                    for i, (ask, bound) in enumerate(zip(show.asks(), bounds))]
            runs[each.name] = [{"asks": asks, "prefetched": 0}] * 2
        model["shows"].append({"name": show.name, "title": show.title, "runs": runs,
                               "commands": [f"cairn of {show.name}"]})
    facts = {"minutes": 1, "date": "2026-01-02", "cores": 2, "system": "Linux x86_64",
             "processor": "a processor", "memory_gib": 8, "cairn": "cairn 0.1.0", "peer": "0.7.0",
             "repeat": 1, "quick": False, "threads": 2, "context": 8192, "ram_mib": 512,
             "load": 0.1, "width": 64}
    return {"facts": facts, "models": [model]}


class APage(unittest.TestCase):
    def test_has_a_row_for_each_part_and_no_line_that_is_not_a_table_is_long(self):
        text = page(results_of(lambda who, show, bound: bound.prefilled))
        for phase in (shows.BEHIND, shows.AGAIN, shows.NEXT, shows.QUERIES_AFTER, shows.DELETED):
            self.assertIn(f"| llama | {phase} | ", text)
        for line in text.splitlines():
            if not line.startswith(("|", "cairn ", "llama-server ")):
                self.assertLessEqual(len(line), 100, line)

    def test_says_nothing_is_behind_where_nothing_is(self):
        text = page(results_of(lambda who, show, bound: bound.prefilled))
        self.assertRegex(text, r"## Where Cairn is behind\n(.|\n)*?\nNone\.\n")
        self.assertIn("Cairn's over its: **0.50**", " ".join(text.split()))

    def test_names_what_cairn_prefills_more_of(self):
        text = page(results_of(lambda who, show, bound: bound.prefilled + (
            100 if who == "Cairn" and show == "restart" else 0)))
        behind = text[text.index("## Where Cairn is behind"):text.index("## Two pictures")]
        self.assertIn(f"| After a restart | llama | {shows.NEXT} | llama-server | **", behind)
        self.assertNotIn("| Two pictures in a conversation |", behind)

    def test_lists_parts_in_which_somebody_encoded_a_picture(self):
        text = page(results_of(lambda who, show, bound: bound.prefilled,
                               lambda who, i: int(who == "llama-server" and i == 8)))
        encoded = text[text.index("## Pictures encoded"):]
        self.assertIn(f"| llama | {shows.BEFORE} | 0 | 0 | 1 | 0 |", encoded)
        self.assertNotIn(f"| llama | {shows.BEHIND} |", encoded)

    def test_says_where_encodings_are_not_known(self):
        text = page(results_of(lambda who, show, bound: bound.prefilled,
                               lambda who, i: None if who != "Cairn" else 0))
        self.assertIn("this version's log does not say when it encodes", " ".join(text.split()))

    def test_says_if_servers_count_prompts_differently(self):
        results = results_of(lambda who, show, bound: bound.prefilled)
        self.assertIn("counted the same length", page(results))
        results["models"][0]["shows"][0]["runs"]["llama-server"][1]["asks"][0]["sent"] += 1
        self.assertIn("llama-server in", page(results))
        self.assertNotIn("counted the same length", page(results))


    def test_says_that_the_machine_was_not_idle(self):
        results = results_of(lambda who, show, bound: bound.prefilled)
        self.assertNotIn("not idle", page(results))
        results["facts"]["load"] = 3.21
        self.assertIn("load average was 3.2 at the start", " ".join(page(results).split()))


class TheLog(unittest.TestCase):
    def test_of_llama_server_says_how_many_pictures_it_encodes_together(self):
        log = "slot x: id  0 | task 5 | encoding mtmd batch from idx = 12, n_chunks = 2\n"
        self.assertEqual(bench.ENCODES.findall(log), ["2"])
        self.assertFalse(re.search(bench.ENCODES, "processing image..."))
