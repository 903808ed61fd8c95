"""Plays all scenarios on Cairn and on Debian's llama-server, with its defaults and with its best
flags, on a made model of each memory class, and writes docs/benchmarks.md and its pictures: make
bench-peers. What was seen is left in build/bench-peers, with a page for the browser.

With MODEL=FILE [CHAT_TEMPLATE=name] [ANSWER_TOKENS=16]: the main scenarios on this model, on Cairn
and on llama-server with its defaults, and whether their greedy answers agree; into
build/bench-model/NAME.md. llama-server plays once more with smaller batches, as a control: how
often does it agree with itself? CONTROL=0: not that.
"""

from bench.beside import (Played, add_settings, arguments_of, between, call_text,
                          machine_paragraph, say)
from bench.machine import command_text
from bench.pages import paragraph
from bench.servers import made_for_benches, restart_command
from bench.settings import Settings, chosen, given, words

MAIN_SCENARIOS = ["growing-chat", "two-agents", "edits-further-back", "regenerate", "edit-last",
                  "titles", "forks", "sub-agents", "parallel-same", "restart", "tool-messages",
                  "crowd"]
CONTROL_BATCH = 32
# Each class has an architecture whose grid is verified in docs/architectures.md, and its layers;
# where every token looks at all before it, two layers take long enough.
RECIPES = {"hybrid": ("qwen35", 4), "recurrent": ("mamba2", 4), "sliding-window": ("gpt-oss", 2),
           "attention": ("qwen3", 2)}
CAIRN, PEER, BEST, CONTROL = "cairn", "llama-server", "best", "control"
NAMES = {CAIRN: CAIRN, PEER: PEER, BEST: "llama-server, best flags",
         CONTROL: f"llama-server, batches of {CONTROL_BATCH}"}
BEST_FLAGS = ["--checkpoint-min-step", "0", "--ctx-checkpoints", "256"]
REUSE = ["--cache-reuse", "64"]
BEST_OF_CLASS = {"sliding-window": ["--swa-full", *REUSE], "attention": REUSE}

COMPARED = """For each model, one server after the other was started, played and ended, in {repeat}
rounds; never did two run at once. All have the same model, context, threads, batches and limit for
cached RAM, and answer greedily. The peer plays twice: as it is set up by default, and with its best
flags: twice the slots, `--checkpoint-min-step 0`, `--ctx-checkpoints 256`, and where the memory
allows them `--swa-full` and `--cache-reuse`. The last one moves attention memory to positions that
it was not computed for: it changes answers, and may read less than the unavoidable."""

MODELS = """The models are small ones of random weights that `cairn-lab model make` made, with one
token a byte and a template that strips old reasoning. How many tokens are read does not hang on the
weights. Times do: only their ratios say something of other models, and of larger ones they say too
little, as what is read again costs more there."""

COMPARED_ON_FILE = """One server after the other was started, played and ended; never did two run at
once. All have the same model, context, slots, threads and limit for cached RAM, and answer greedily
with at most {tokens} tokens. Each is otherwise set up by default."""


class Peers(Played):
    """`recipe`: the memory class, or the name of a real model, whose answers are not decided
    beforehand: its history goes on with made-up ones, and all servers get the same prompts."""

    def command(self, name: str, recipe: str, model) -> list:
        args = self._args
        slots = 2 * args.slots if name == BEST else args.slots
        # Without --parallel both would share the context among slots.
        common = ["-m", model, "-c", args.context, "-t", args.threads, "-b", 2048, "-ub", 512,
                  "--parallel", slots, "--kv-unified", "--cache-ram", args.ram_mib]
        if args.chat_template:
            common += ["--chat-template", args.chat_template]
        if name == CAIRN:
            own = [args.cairn, "serve", *common, "--cache-dir", args.cache, *args.flags]
        else:
            own = [*args.peer.command, *common, "--metrics"]
        if name == CONTROL:
            own += ["-b", CONTROL_BATCH, "-ub", CONTROL_BATCH]
        if name == BEST:
            own += [*BEST_FLAGS, *BEST_OF_CLASS.get(recipe, [])]
        return list(map(str, own))

    def play(self, name: str, recipe: str, model, repetition: int):
        args, stem = self._args, f"{recipe}-{repetition}-{name}"
        command = self.command(name, recipe, model)
        told = command_text(args, command, *([model.parent] if args.model else []))
        more = ["--fixed-answers", args.answer_tokens] if args.model else []
        if args.trace:
            more += ["--trace", args.trace]
        with self.start(command, name == CAIRN, stem) as server, \
                restart_command(server) as restart:
            self.run(["--url", server.url, "--name", NAMES[name], "--scenario",
                      ",".join(args.scenarios), "--scale", args.scale, "--seed", args.seed,
                      "--pause-ms", args.pause_ms, "--command", told, "--restart", restart, *more],
                     stem, f"{recipe}, run {repetition} of {args.repeat}, {NAMES[name]}")

    def play_all(self, names: list, recipe: str, model):
        for repetition in range(1, self._args.repeat + 1):
            for name in names:
                self.play(name, recipe, model, repetition)


def write_page(args, peers: Peers):
    facts = call_text(args, "bench-peers", [["SCALE", "REPEAT", "CLASSES"],
                                            ["SCENARIOS", "SEED", "PAUSE_MS", "CONTEXT", "SLOTS"]])
    for text in (machine_paragraph(args), COMPARED.format(repeat=args.repeat), MODELS):
        facts += paragraph(text) + "\n"
    page = args.out / "benchmarks.md"
    peers.write("scenarios", facts, page, args.out / "benchmarks")
    say(between(page, "What was promised", "Figures"))


def architecture_of(file) -> str:
    """Cairn was played first, and tells it."""
    for line in file.read_text().splitlines():
        if '"architecture": "' in line:
            return line.split('"')[3]
    return "unknown"


def write_page_of_file(args, peers: Peers):
    file, template = args.model.name, args.chat_template
    model = (f"The model is the file `{file}`, of the architecture "
             f"{architecture_of(peers.files[0])}, {args.model.stat().st_size / 1e6:.0f} MB (10^6 "
             "bytes)" +
             (f", with the chat template {template} in place of its own." if template else "."))
    call = call_text(args, "bench-peers", [
        [f"MODEL={file}", "SCALE", "REPEAT"], ["SCENARIOS"],
        ["SEED", "PAUSE_MS", "CONTEXT", "SLOTS", "THREADS"],
        ["ANSWER_TOKENS", *(["CHAT_TEMPLATE"] if template else [])]])
    facts = (paragraph(model) + "\n" + call + paragraph(machine_paragraph(args)) + "\n" +
             paragraph(COMPARED_ON_FILE.format(tokens=args.answer_tokens)))
    page = args.out / f"{args.model.stem}.md"
    peers.write("model", facts, page)
    say(between(page, "In short", "Figures"))


def arguments(argv: list[str]):
    of_file = given("model", argv)
    settings = Settings("peers", __doc__, argv, "bench-model" if of_file else "")
    add_settings(settings)
    settings.add("scale", float, 0.25, quick=0.02)
    settings.add("repeat", int, 1 if of_file else 3, quick=1)
    settings.add("classes", words, list(RECIPES), "of memory", quick=["hybrid"])
    settings.add("scenarios", words, MAIN_SCENARIOS if of_file else ["all"],
                 quick=None if of_file else ["growing-chat", "restart"])
    settings.add("pause-ms", int, 0)
    settings.add("context", int, 32768, quick=8192)
    settings.add("trace", str, "", "a file for the requests")
    settings.add("answer-tokens", int, 16)
    settings.add("chat-template", str, "")
    settings.add("control", int, 1)
    args = arguments_of(settings)
    chosen(args.classes, RECIPES, "CLASSES")
    return args


def main(argv: list[str]):
    args = arguments(argv)
    peers = Peers(args)
    if args.model:
        names = [CAIRN, PEER] + ([CONTROL] if args.control else [])
        peers.play_all(names, args.model.stem, args.model)
        write_page_of_file(args, peers)
        return
    for recipe in args.classes:
        model = made_for_benches(args.lab, *RECIPES[recipe], args.models, args.width)
        peers.play_all([CAIRN, PEER, BEST], recipe, model)
    write_page(args, peers)
