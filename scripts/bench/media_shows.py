"""The conversations of `make bench-media`, their pictures, and the lower bound of their prefill.

A show is a list of requests, in legs; between two legs the server restarts. Each request has the
whole conversation and the answer that the model is made to give, which is the one in the history of
the requests after it.
"""

import json
import random
import re
from dataclasses import dataclass

from bench import pictures

TURNS = 6
PICTURE_TURNS = (0, 2)  # with a picture behind their text
SYSTEM_BYTES = 600
TEXT_BYTES = 240
ANSWER_BYTES = 60
QUERIES = 5
QUERY_BYTES = 120

PICTURE = (512, 384)  # width and height
SQUARE = 16

MARKER = re.compile(r"<__media__>")

FIRST_TURNS, BEHIND, BETWEEN = "six turns", "edit behind the pictures", "edit between them"
BEFORE, AGAIN = "edit before them", "the first form again"
FIRST_FIVE, NEXT = "five turns before it", "the next turn"
AFTER_RESTART = "edit between the pictures"
FIRST_QUERY, QUERIES_AFTER = "the first question", f"{QUERIES - 1} other questions"
DELETED, DELETED_TOO = "turn 2 deleted, a new turn", "turn 3 deleted too, a new turn"


def picture(seed: int) -> bytes:
    return pictures.png_squares(*PICTURE, SQUARE, seed)


def text_of(seed: str, size: int) -> str:
    """Words of some `size` bytes in all. A made model has a token for each byte."""
    choice = random.Random(seed)
    words = ""
    while len(words) < size:
        words += "".join(choice.choices("abcdefghijklmnopqrstuvwxyz", k=choice.randint(3, 9))) + " "
    return words[:size - 1].strip() + "."


def edited(text: str) -> str:
    """The same text with another second half."""
    half = len(text) // 2
    return text[:half] + text_of("edit of " + text, len(text) - half)


def text_part(text: str) -> dict:
    return {"type": "text", "text": text}


def picture_part(seed: int) -> dict:
    return pictures.picture_part(picture(seed))


@dataclass
class Ask:
    """A request."""
    phase: str  # the row of the page that it belongs to
    messages: list
    answer: str

    def question(self) -> str:
        """The text of the last message."""
        content = self.messages[-1]["content"]
        if isinstance(content, str):
            return content
        return "".join(part["text"] for part in content if part["type"] == "text")


@dataclass
class Show:
    name: str
    title: str
    legs: list  # lists of Ask; the server restarts between two of them

    def asks(self) -> list:
        return [ask for leg in self.legs for ask in leg]


class Talk:
    """A conversation in turns. `with_pictures`: see PICTURE_TURNS."""

    def __init__(self, name: str, with_pictures: bool = True):
        count = TURNS + 2
        self._system = text_of(f"{name} system", SYSTEM_BYTES)
        self._texts = [text_of(f"{name} {turn}", TEXT_BYTES) for turn in range(count)]
        self._answers = [text_of(f"{name} answer {turn}", ANSWER_BYTES) for turn in range(count)]
        self._pictures = {}
        if with_pictures:
            self._pictures = {turn: picture_part(turn + 1) for turn in PICTURE_TURNS}

    def ask(self, phase: str, turns: list, edit: int = -1) -> Ask:
        """The question of the last of `turns`, behind the others. `edit`: a turn whose text is
        edited."""
        messages = [{"role": "system", "content": self._system}]
        for turn in turns:
            content = edited(self._texts[turn]) if turn == edit else self._texts[turn]
            if turn in self._pictures:
                content = [text_part(content), self._pictures[turn]]
            messages.append({"role": "user", "content": content})
            if turn != turns[-1]:
                messages.append({"role": "assistant", "content": self._answers[turn]})
        return Ask(phase, messages, self._answers[turns[-1]])

    def grow(self, phase: str, first: int, last: int) -> list:
        """The requests of the turns from `first` to `last`, in a conversation that began at 0."""
        return [self.ask(phase, list(range(turn + 1))) for turn in range(first, last + 1)]


def conversation() -> Show:
    talk = Talk("conversation")
    whole = list(range(TURNS))
    leg = talk.grow(FIRST_TURNS, 0, TURNS - 1)
    # The turns of the two pictures are 0 and 2, and a turn's picture is behind its text.
    leg += [talk.ask(BEHIND, whole, edit=3), talk.ask(BETWEEN, whole, edit=1),
            talk.ask(BEFORE, whole, edit=0), talk.ask(AGAIN, whole)]
    return Show("conversation", "Two pictures in a conversation", [leg])


def restart() -> Show:
    talk = Talk("restart")
    before = talk.grow(FIRST_FIVE, 0, TURNS - 2)
    after = talk.grow(NEXT, TURNS - 1, TURNS - 1)
    after.append(talk.ask(AFTER_RESTART, list(range(TURNS)), edit=1))
    return Show("restart", "After a restart", [before, after])


def questions() -> Show:
    part = picture_part(7)
    leg = []
    for i in range(QUERIES):
        content = [part, text_part(text_of(f"question {i}", QUERY_BYTES))]
        leg.append(Ask(FIRST_QUERY if i == 0 else QUERIES_AFTER,
                       [{"role": "user", "content": content}],
                       text_of(f"question answer {i}", ANSWER_BYTES)))
    return Show("questions", "One picture, one question after the other", [leg])


def moved() -> Show:
    talk = Talk("moved", with_pictures=False)
    turns = list(range(TURNS))
    leg = talk.grow(FIRST_TURNS, 0, TURNS - 1)
    leg.append(talk.ask(DELETED, [t for t in turns if t != 1] + [TURNS]))
    leg.append(talk.ask(DELETED_TOO, [t for t in turns if t not in (1, 2)] + [TURNS, TURNS + 1]))
    return Show("moved", "Text alone, with a projector loaded", [leg])


class Units:
    """Prompts as lists of units: tokens of text, and media, which are shared whole or not at all.
    A unit is a pair: what it is, and how many tokens it counts for. `server`: Cairn, which says how
    a conversation is rendered and tokenized."""

    def __init__(self, server):
        self._server = server
        self._media = {}  # tokens by the part's JSON

    def prompt(self, messages: list) -> list:
        rendered = self._rendered(messages)
        media = [self._measured(part) for message in messages
                 if isinstance(message["content"], list)
                 for part in message["content"] if part["type"] != "text"]
        units, begin = [], 0
        for marker, medium in zip(MARKER.finditer(rendered), media, strict=True):
            units += self.text(rendered[begin:marker.start()])
            units.append((medium, self._media[medium]))
            begin = marker.end()
        return units + self.text(rendered[begin:])

    def text(self, text: str) -> list:
        if not text:
            return []
        return [(token, 1) for token in self._server.post("/tokenize", {"content": text})["tokens"]]

    def _rendered(self, messages: list) -> str:
        return self._server.post("/apply-template", {"messages": messages})["prompt"]

    def _measured(self, part: dict) -> str:
        """The medium's key, after its tokens were counted, those that the projector puts around it
        included."""
        key = json.dumps(part)
        if key not in self._media:
            messages = [{"role": "user", "content": [part]}]
            counted = self._server.post("/v1/chat/completions/input_tokens",
                                        {"messages": messages})["input_tokens"]
            around = [self.text(piece) for piece in MARKER.split(self._rendered(messages))]
            self._media[key] = counted - sum(map(len, around))
        return key

    def media(self) -> dict:
        return dict(self._media)


def tokens_of(units: list) -> int:
    return sum(tokens for _, tokens in units)


class SeenPrompts:
    """The prompts and answers sent so far. They bound the prefill of a prompt from below: a server
    can only reuse a prefix that one of them has, and must prefill the last token."""

    def __init__(self):
        self._seen = []

    def add(self, units: list):
        self._seen.append(units)

    def lower_bound(self, units: list) -> int:
        shared = max((self._shared(units, seen) for seen in self._seen), default=0)
        return max(1, tokens_of(units) - shared)

    @staticmethod
    def _shared(units: list, seen: list) -> int:
        shared = 0
        for ours, theirs in zip(units, seen):
            if ours[0] != theirs[0]:
                break
            shared += ours[1]
        return shared


@dataclass
class Bound:
    """What no server can avoid at a request, and the length of its prompt in tokens."""
    sent: int
    prefilled: int
    encoded: int  # pictures


def lower_bounds(show: Show, units: Units) -> list:
    """For each request of the show, as if its server never restarted."""
    seen, media, found = SeenPrompts(), set(), []
    for ask in show.asks():
        prompt = units.prompt(ask.messages)
        new = {key for key, _ in prompt if isinstance(key, str)} - media
        found.append(Bound(tokens_of(prompt), seen.lower_bound(prompt), len(new)))
        media |= new
        seen.add(prompt + units.text(ask.answer))
    return found
