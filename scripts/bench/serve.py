"""Plays many clients at once on Cairn and on Debian's llama-server, with the same made model, and
writes docs/serve.md and its pictures: make bench-serve. What is played: cairn-lab bench load
--help.

With MODEL=FILE: the workload crowds, or WORKLOADS, on this model, into build/bench-serve/NAME.md.
REPEAT is that of speed and crowds alone: all else is long enough to be played once. For every run a
server is started and ended, Cairn and the peer in turn; never do two run at once. What was seen is
left in build/bench-serve. Fails when Cairn did not answer a request whole, unless by a 503 with
Retry-After; what the peer did is on the page.
"""

import subprocess

from bench.beside import Played, add_settings, arguments_of, call_text, machine_paragraph
from bench.machine import command_text
from bench.pages import paragraph
from bench.servers import made_for_benches
from bench.settings import Settings, chosen, fail, given, words

WORKLOADS = ["speed", "crowds", "mixed", "gaps", "turns", "streams"]
REPEATED = ("speed", "crowds")
CAIRN, PEER = "cairn", "llama-server"
MARKS_TOKENS = 2048  # around the answers and questions beside a long prompt
ANSWER_TOKENS_MIN = 200

COMPARED = """For each run of a workload a server was started and ended, ours and the peer's in
turn; never did two run at once. The clients ran on the same cores. Both servers have the same
model, context, slots, threads, batches and limit for cached RAM, and answer greedily; answers have
the same lengths, as their ends are ignored. *crowds* has {crowd_slots} slots with a stream for
each, as is the default of both; all else is in one buffer. Other lengths and flags of a workload:
*gaps* has a context of {long_context} tokens and {answers} answers of up to {answer_tokens} tokens;
*streams* has {streams} clients for {stream_seconds} seconds; *turns* has pauses of {pause_ms} ms,
and its answers, which must hold reasoning, are decided beforehand: the peer is held to them by a
grammar in the request, ours by `--script`."""

MADE = """The model is a small one of random weights that `cairn-lab model make qwen35` made
({width} wide, 4 layers), with one token a byte. On larger ones computing takes more and everything
else less of the time, so ratios are nearer to those of computing alone."""


class Serve(Played):
    def command(self, name: str, workload: str) -> list:
        args = self._args
        context = args.long_context if workload == "gaps" else args.context
        slots = args.crowd_slots if workload == "crowds" else args.slots
        common = ["-m", args.played, "-c", context, "-t", args.threads, "-b", 2048, "-ub", 512,
                  "--parallel", slots, "--cache-ram", args.ram_mib]
        # Crowds are played on the default where the slots are given: a stream for each.
        if workload != "crowds":
            common.append("--kv-unified")
        if name == PEER:
            return list(map(str, [*args.peer.command, *common, "--metrics"]))
        # The peer gets these answers by a grammar, which it holds reasoning to as well.
        script = ["--script", args.script] if workload == "turns" else []
        return list(map(str, [args.cairn, "serve", *common, "--cache-dir", args.cache, *args.flags,
                              *script]))

    def play(self, name: str, workload: str, repetition: int) -> bool:
        """Whether nothing went wrong."""
        args, stem = self._args, f"{workload}-{repetition}-{name}"
        command = self.command(name, workload)
        with self.start(command, name == CAIRN, stem) as server:
            return self.run(
                ["load", "--url", server.url, "--name", name, "--workload", workload, "--pid",
                 server.pid, "--scale", args.scale, "--seed", args.seed, "--first-repetition",
                 repetition, "--clients", args.slots, "--crowd-max", args.crowd_max,
                 "--long-tokens", args.long_tokens, "--answers", args.answers, "--answer-tokens",
                 args.answer_tokens, "--turns", args.turns, "--pause-ms", args.pause_ms,
                 "--streams", args.streams, "--seconds", args.stream_seconds, "--command",
                 command_text(args, command)],
                stem, f"{workload}, run {repetition + 1}, {name}")

    def play_all(self) -> list:
        """The workloads in which a request to Cairn went wrong."""
        wrong = []
        for workload in self._args.workloads:
            for repetition in range(self._args.repeat if workload in REPEATED else 1):
                if not self.play(CAIRN, workload, repetition):
                    wrong.append(workload)
                self.play(PEER, workload, repetition)
        return wrong


def facts_of(args) -> str:
    facts = call_text(args, "bench-serve", [
        ["WORKLOADS", "REPEAT", "SCALE", "SEED"], ["SLOTS", "CROWD_SLOTS", "CROWD_MAX"],
        ["CONTEXT", "LONG_TOKENS", "LONG_CONTEXT"],
        ["ANSWERS", "TURNS", "PAUSE_MS", "STREAMS", "STREAM_SECONDS"]])
    for text in (machine_paragraph(args), COMPARED, *([] if args.model else [MADE])):
        facts += paragraph(text.format(**vars(args))) + "\n"
    return facts


def arguments(argv: list[str]):
    of_file = given("model", argv)
    settings = Settings("serve", __doc__, argv)
    add_settings(settings)
    settings.add("workloads", words, ["crowds"] if of_file else WORKLOADS)
    settings.add("repeat", int, 2, quick=1)
    settings.add("scale", float, 1.0, quick=0.05)
    settings.add("context", int, 65536, quick=16384)
    settings.add("long-tokens", int, 100_000, quick=4000)
    settings.add("long-context", int, 262_144, quick=32768)
    settings.add("answers", int, 2)
    settings.add("turns", int, 8, quick=4)
    settings.add("pause-ms", int, 2000, quick=100)
    settings.add("streams", int, 200, quick=40)
    settings.add("stream-seconds", int, 120, quick=5)
    settings.add("crowd-max", int, 32, quick=8)
    settings.add("crowd-slots", int, 16)
    args = arguments_of(settings)
    chosen(args.workloads, WORKLOADS, "WORKLOADS")
    # As long as the context allows beside the long prompt.
    args.answer_tokens = (args.long_context - args.long_tokens - MARKS_TOKENS) // args.answers
    if args.answer_tokens < ANSWER_TOKENS_MIN:
        fail(f"LONG_CONTEXT={args.long_context} leaves no room for answers.")
    return args


def main(argv: list[str]):
    args = arguments(argv)
    args.played = args.model or made_for_benches(args.lab, "qwen35", 4, args.models, args.width)
    args.script = args.work / "turns-script.json"
    subprocess.run([args.lab, "bench", "load", "--seed", str(args.seed), "--script-out",
                    args.script], check=True)
    serve = Serve(args)
    wrong = serve.play_all()
    page = args.out / (f"{args.model.stem}.md" if args.model else "serve.md")
    serve.write("load", facts_of(args), page, args.out / "serve")
    if wrong:
        fail(f"requests to ours went wrong in: {' '.join(wrong)} (see above).")
