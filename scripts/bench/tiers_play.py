"""The conversations of `make bench-tiers`, and how they are played on one server.

In the first round every conversation begins with its long prompt. In each round behind it every
conversation goes on by one turn, in an order of the seed: some clients take the next one each, as
soon as their last answer has ended. Then come rounds with one more client, which reads one long
answer all the while.
"""

import json
import math
import multiprocessing
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass

from bench.chat import answer_of, pieces_of, prompt, streamed, streaming
from bench.servers import Server
from bench.settings import fail

MIB = 1 << 20
TALKS_MAX, TURNS_MAX = 64, 32  # of a seed, so that no two texts are alike
TEMPLATE_TOKENS = 64  # around a turn's text, at most
QUIET_S, QUIET_S_MAX = 2, 120  # without a write; the longest wait for that
POLL_S = 0.1
ROUND_TO = 256  # tokens


@dataclass(frozen=True)
class Shape:
    """How much is played. `tokens`: of a first prompt, in about; `beside`: rounds beside a long
    answer, behind the others."""
    conversations: int
    tokens: int
    new_tokens: int
    answer_tokens: int
    rounds: int
    beside: int
    clients: int
    slots: int

    def _turn(self) -> int:
        return self.new_tokens + self.answer_tokens + TEMPLATE_TOKENS

    def room(self) -> int:
        """Tokens that the longest conversation has at most."""
        tokens = self.tokens + (1 + self.rounds + self.beside) * self._turn()
        return math.ceil(tokens / ROUND_TO) * ROUND_TO

    def context(self) -> int:
        return self.slots * self.room()

    def long_answer(self) -> int:
        return self.room() - ROUND_TO


@dataclass(frozen=True)
class Sizes:
    """Describes the model's state, as Cairn's /props has them."""
    kv_bytes_per_token: int
    snapshot_bytes: int

    def conversation(self, tokens: int) -> int:
        """The KV of all its tokens, and one snapshot."""
        return tokens * self.kv_bytes_per_token + self.snapshot_bytes

    def memory_mib(self, conversations: int, tokens: int) -> int:
        return math.ceil(conversations * self.conversation(tokens) / MIB)


def sizes_of(server: Server) -> Sizes:
    told = json.loads(server.get("/props"))["cairn"]
    return Sizes(told["kv_bytes_per_token"], told["snapshot_bytes"])


@dataclass
class Turn:
    new: int  # tokens of the prompt that are in no earlier one and no earlier answer
    prefilled: int
    first_token_ms: float


class Talk:
    """A conversation, as its client has it. `tokens`: of its prompt and its answer, by the server's
    counts."""

    def __init__(self, shape: Shape, seed: int, number: int):
        self._shape = shape
        self._seed = (seed * TALKS_MAX + number) * TURNS_MAX
        self._turns = 0
        self.messages = [{"role": "system", "content": prompt(shape.tokens, self._seed)}]
        self.tokens = 0

    def ask(self) -> dict:
        """The request of its next turn."""
        self._turns += 1
        text = prompt(self._shape.new_tokens, self._seed + self._turns)
        self.messages.append({"role": "user", "content": text})
        return request(self.messages, self._shape.answer_tokens)

    def hear(self, answer: dict, sent: int, answered: int) -> int:
        """Takes the answer in. Returns how many tokens of the prompt were new."""
        new = max(1, sent - self.tokens)
        self.messages.append({"role": "assistant", **answer})
        self.tokens = sent + answered
        return new


def order_of(shape: Shape, seed: int, number: int) -> list:
    """The conversations in the order of a round."""
    order = list(range(shape.conversations))
    random.Random(f"{seed} {number}").shuffle(order)
    return order


def request(messages: list, tokens: int) -> dict:
    return streaming(messages, tokens, ignore_eos=True)


def play_turn(server: Server, talk: Talk) -> Turn:
    answer = answer_of(server, talk.ask())
    new = talk.hear(answer.message, answer.usage["prompt_tokens"],
                    answer.usage["completion_tokens"])
    return Turn(new, answer.timings["prompt_n"], answer.first_token_ms)


def play_round(server: Server, talks: list, order: list, clients: int) -> list:
    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(lambda number: play_turn(server, talks[number]), order))


def read_long_answers(server: Server, tokens: int, ended, pipe):
    """Reads one long answer after the other until `ended`, and sends the times between two pieces
    of one answer. The first thing that it sends says that an answer runs."""
    gaps_ms, number, runs = [], 0, False
    while not ended.is_set():
        number += 1
        messages = [{"role": "user", "content": f"Count from {number}."}]
        with closing(streamed(server, request(messages, tokens))) as events:
            last = None
            for event in events:
                if not any(pieces_of(event)):
                    continue
                now = time.monotonic()
                if last is not None:
                    gaps_ms.append((now - last) * 1000)
                last = now
                if not runs:
                    runs = True
                    pipe.send(True)
                if ended.is_set():
                    break
    pipe.send(gaps_ms)


@contextmanager
def long_answer(server: Server, tokens: int):
    """A list that has, behind the `with`, the gaps of a long answer in ms. A process of its own
    reads it, so that no other client delays what it sees."""
    here, there = multiprocessing.Pipe()
    fork = multiprocessing.get_context("fork")
    ended, gaps_ms = fork.Event(), []
    reader = fork.Process(target=read_long_answers, args=(server, tokens, ended, there))
    reader.start()
    there.close()
    try:
        here.recv()
        yield gaps_ms
        ended.set()
        gaps_ms += here.recv()
    except EOFError:
        fail(f"{server.log_path.stem} did not give the long answer")
    finally:
        ended.set()
        reader.join(QUIET_S_MAX)
        reader.kill()


def wait_until_written(server: Server):
    """Waits until Cairn has written nothing for some time."""
    end = time.monotonic() + QUIET_S_MAX
    written, quiet_since = -1.0, time.monotonic()
    while time.monotonic() - quiet_since < QUIET_S:
        now = server.metric("cairn_disk_written_bytes_total")
        if now != written:
            written, quiet_since = now, time.monotonic()
        if time.monotonic() > end:
            fail(f"after {QUIET_S_MAX} s Cairn still writes")
        time.sleep(POLL_S)


def prefetched(server: Server, ours: bool) -> float:
    return server.metric("cairn_prefetched_tokens_total") if ours else 0


def disk_figures(server: Server, sizes: Sizes, talks: list) -> dict:
    return {"written": server.metric("cairn_disk_written_bytes_total"),
            "distinct": sum(sizes.conversation(talk.tokens) for talk in talks),
            "read": server.metric("cairn_disk_read_bytes_total")}


def beside_figures(server: Server, shape: Shape, talks: list, orders: list) -> dict:
    with long_answer(server, shape.long_answer()) as gaps_ms:
        for order in orders:
            play_round(server, talks, order, shape.clients)
    if not gaps_ms:
        fail(f"{server.log_path.stem} did not go on with the long answer")
    return {"gaps_ms": [round(gap, 2) for gap in gaps_ms]}


def play(server: Server, shape: Shape, sizes: Sizes, seed: int, ours: bool, disk: bool,
         beside: bool) -> dict:
    """The figures of one server, which has just been started."""
    talks = [Talk(shape, seed, number) for number in range(shape.conversations)]
    orders = [order_of(shape, seed, number)
              for number in range(1 + shape.rounds + shape.beside)]
    play_round(server, talks, orders[0], shape.clients)
    before = prefetched(server, ours)
    turns = []
    for order in orders[1:1 + shape.rounds]:
        turns += play_round(server, talks, order, shape.clients)
    figures = {"turns": len(turns), "new": sum(turn.new for turn in turns),
               "prefilled": sum(turn.prefilled for turn in turns),
               "prefetched": prefetched(server, ours) - before,
               "first_ms": [round(turn.first_token_ms, 1) for turn in turns]}
    if ours:  # with a disk or not, so that all of them pause here
        wait_until_written(server)
    if disk:
        figures |= disk_figures(server, sizes, talks)
    if beside and shape.beside:
        figures |= beside_figures(server, shape, talks, orders[1 + shape.rounds:])
    return figures
