"""Tests of inputs.py: what the words of an expectation ask of an answer."""

import json
import unittest
from pathlib import Path

from bench.inputs import Input, expectation, judged, parsed, streamed


def chat(content, *calls):
    made = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    message = {"content": content, "tool_calls": made}
    return parsed(200, json.dumps({"choices": [{"message": message}]}))


class AnExpectation(unittest.TestCase):
    def right(self, expected, answer):
        self.assertEqual(expectation(expected)(answer), "")

    def wrong(self, expected, answer):
        self.assertNotEqual(expectation(expected)(answer), "")

    def test_asks_for_calls_and_no_markup(self):
        words = 'one call read {"path":"a"}'
        self.right(words, chat(None, ("read", '{"path": "a"}')))
        self.wrong(words, chat(None, ("read", '{"path": "b"}')))
        self.wrong(words, chat("<|tool_call>", ("read", '{"path": "a"}')))
        self.wrong(words, chat("text"))
        self.right("two calls, no markup in content", chat("", ("a", "{}"), ("b", "{}")))
        self.wrong("two calls, no markup in content", chat("</tool_call>", ("a", "{}")))
        self.wrong("the call, and no markup in content", chat("<|x|>", ("a", "{}")))

    def test_asks_for_one_of_several_arguments(self):
        words = 'arguments {"d": "r"} or {"d": null}'
        self.right(words, chat(None, ("f", '{"d": null}')))
        self.wrong(words, chat(None, ("f", '{"d": "\\"r\\""}')))

    def test_asks_for_a_status(self):
        self.right("200: the reference lists it", parsed(200, "{}"))
        self.wrong("200: the reference lists it", parsed(400, '{"error": {"message": "no"}}'))

    def test_of_unknown_words_is_none(self):
        self.assertIsNone(expectation("something else"))
        one = Input(Path("x.json"), Path("t"), expected="something else", status=200,
                    answer={"content": "a"})
        self.assertIn("as recorded", judged(one, chat("a")))
        self.assertIn("to be looked at", judged(one, chat("b")))


class AStream(unittest.TestCase):
    def test_is_read_as_the_whole_answer(self):
        pieces = [{"content": "x"}, {"tool_calls": [{"function": {"name": "f", "arguments": ""}}]},
                  {"tool_calls": [{"function": {"arguments": "{}"}}]}]
        text = "".join("data: " + json.dumps({"choices": [{"delta": piece}]}) + "\n\n"
                       for piece in pieces) + "data: [DONE]\n\n"
        answer = parsed(200, text)
        self.assertEqual((answer.content, answer.calls), ("x", [["f", "{}"]]))

    def test_is_asked_for_where_a_grammar_settles_the_answer(self):
        self.assertIsNone(streamed({"messages": []}))
        self.assertEqual(streamed({"grammar": "g"}), {"grammar": "g", "stream": True})
