#!/usr/bin/env python3
"""Measures embeddings beside llama-server: texts a second in requests of 1, 32 and 256 texts, and
how far the vectors of the two differ.

    [THREADS=2] [WORK=FOLDER] bench_embeddings.py MODEL.gguf... [--rounds 3] [--kinds queries]
        [--sizes 1,32]

Both servers run at once and are asked in turn, so that a busy machine slows both. The first round
is not timed. Prints a table a model, in Markdown: the median of the rounds.
"""

import argparse
import math
import random
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent)]

from bench_server import ROOT, Server, fail, parsed, peer_command  # noqa: E402

WORDS = """the of a stone hill path cairn walker marks where fog hides it and in winter snow lies
deep so that nobody finds their way without one they are built by hand from what is near each adds
another on top when passing some are old as roads others fell long ago people still look for
them""".split()
KINDS = {"queries": (6, 14), "passages": (60, 120)}  # words a text
TEXTS = {1: 8, 32: 32, 256: 256}  # a round, in requests of that size


def texts_of(kind: str, count: int, seed: int) -> list:
    chosen = random.Random(seed)
    least, most = KINDS[kind]
    return [" ".join(chosen.choices(WORDS, k=chosen.randint(least, most))) for _ in range(count)]


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


def servers_for(args, model: Path, peer):
    command, folder = peer
    threads = ["-t", str(args.threads), "-tb", str(args.threads)]
    name = model.stem
    yield "Cairn", Server([args.cairn, "serve", "-m", model, "--embeddings", *threads], ROOT,
                          args.work / f"{name}.cairn.log")
    yield "llama-server", Server([*command, "-m", model, "--embedding", *threads], folder,
                                 args.work / f"{name}.peer.log")
    # With as many slots as texts of a request, each with a context of 512 tokens.
    yield "llama-server -np 32", Server(
        [*command, "-m", model, "--embedding", "-np", "32", "-c", str(32 * 512), *threads], folder,
        args.work / f"{name}.peer32.log")


def measure(args, model: Path, peer):
    servers = dict(servers_for(args, model, peer))
    print(f"\n### {model.stem}\n\n| texts | a request | {' | '.join(servers)} | "
          "least cosine to llama-server |\n| --- | --: |" + " --: |" * (len(servers) + 1))
    try:
        for kind in args.kinds.split(","):
            for size in map(int, args.sizes.split(",")):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sizes", default=",".join(map(str, TEXTS)))
    args = parsed(parser, "bench-embeddings", 2)
    args.work.mkdir(parents=True, exist_ok=True)
    peer = peer_command()
    if peer is None:
        fail("there is no llama-server to compare with: install llama.cpp-tools")
    for model in args.models:
        measure(args, model.resolve(), peer)


if __name__ == "__main__":
    main()
