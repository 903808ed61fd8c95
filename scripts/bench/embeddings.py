"""Measures embeddings beside llama-server: texts a second in requests of 1, 32 and 256 texts, and
how far the vectors of the two differ.

Both servers run at once and are asked in turn, so that a busy machine slows both. The first round
is not timed. Prints a table a model, in Markdown: the median of the rounds.
"""

import math
import random
import statistics
import time
from pathlib import Path

from bench.servers import ROOT, Peer, Server, find_peer
from bench.settings import Settings, prepared, words

TEXT = """the of a stone hill path cairn walker marks where fog hides it and in winter snow lies
deep so that nobody finds their way without one they are built by hand from what is near each adds
another on top when passing some are old as roads others fell long ago people still look for
them""".split()
KINDS = {"queries": (6, 14), "passages": (60, 120)}  # words a text
TEXTS = {1: 8, 32: 32, 256: 256}  # a round, in requests of that size


def texts_of(kind: str, count: int, seed: int) -> list:
    chosen = random.Random(seed)
    least, most = KINDS[kind]
    return [" ".join(chosen.choices(TEXT, k=chosen.randint(least, most))) for _ in range(count)]


def cosine(a: list, b: list) -> float:
    product = sum(x * y for x, y in zip(a, b))
    return product / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def embed(server: Server, texts: list) -> list:
    answer = server.post("/v1/embeddings", {"input": texts})
    return [one["embedding"] for one in sorted(answer["data"], key=lambda one: one["index"])]


def play(server: Server, texts: list, size: int):
    """Texts a second, and their vectors."""
    begin, vectors = time.monotonic(), []
    for at in range(0, len(texts), size):
        vectors += embed(server, texts[at:at + size])
    return len(texts) / (time.monotonic() - begin), vectors


def servers_for(args, model: Path, peer: Peer):
    threads = ["-m", model, "-t", str(args.threads), "-tb", str(args.threads)]

    def log(who: str) -> Path:
        return args.work / f"{model.stem}.{who}.log"

    yield "Cairn", Server([args.cairn, "serve", "--embeddings", *threads], ROOT, log("cairn"))
    yield "llama-server", Server([*peer.command, "--embedding", *threads], peer.folder, log("peer"))
    # With as many slots as texts of a request, each with a context of 512 tokens.
    yield "llama-server -np 32", Server(
        [*peer.command, "--embedding", "-np", "32", "-c", str(32 * 512), *threads], peer.folder,
        log("peer32"))


def measure(args, model: Path, peer: Peer):
    servers = dict(servers_for(args, model, peer))
    print(f"\n### {model.stem}\n\n| texts | a request | {' | '.join(servers)} | "
          "least cosine to llama-server |\n| --- | --: |" + " --: |" * (len(servers) + 1))
    try:
        for kind in args.kinds:
            for size in args.sizes:
                row(args, servers, kind, size)
    finally:
        for server in servers.values():
            server.stop()


def row(args, servers: dict, kind: str, size: int):
    rates = {name: [] for name in servers}
    least = 1.0
    for turn in range(args.rounds + 1):
        texts = texts_of(kind, TEXTS[size], 1000 * turn + size)
        vectors = {}
        for name, server in servers.items():
            rate, vectors[name] = play(server, texts, size)
            if turn > 0:
                rates[name].append(rate)
        least = min([least] + [cosine(a, b) for a, b in zip(vectors["Cairn"],
                                                            vectors["llama-server"])])
    figures = " | ".join(f"{statistics.median(rates[name]):.1f}" for name in servers)
    print(f"| {kind} | {size} | {figures} | 1 - {1 - least:.0e} |", flush=True)


def main(argv: list[str]):
    settings = Settings("embeddings", __doc__, argv)
    settings.files("models", "files of models that embed", "+")
    settings.add("rounds", int, 3)
    settings.add("kinds", words, list(KINDS))
    settings.add("sizes", lambda text: list(map(int, words(text))), list(TEXTS),
                 "texts of a request")
    settings.add("threads", int, 2)
    args = prepared(settings.parsed())
    peer = find_peer()
    for model in args.models:
        measure(args, model, peer)
