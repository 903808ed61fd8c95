"""Measures what clients with a changing value in the old part of their prompts cost: tokens
prefilled without and with --volatile late, and by llama-server: make bench-volatile.

Each client talks for ten turns, or through a loop of 30 tool calls. One server runs at a time; only
tokens are compared, so a busy machine does no harm. Writes docs/volatile.md.
"""

import random

from bench import machine
from bench.servers import ROOT, Server, find_peer
from bench.settings import Settings, chosen, fail, path, prepared, words

WORDS = """the of a stone hill path cairn walker marks where fog hides it and in winter snow lies
deep so that nobody finds their way without one they are built by hand from what is near each adds
another on top when passing some are old as roads others fell long ago people still look for
them""".split()
TURNS = 10
STEPS = 30
CONTEXT = 8192
PAGE = """# Values that change in old text

Clients write dates, clocks, countdowns and random ids into their system prompts, or write them anew
into old messages. `--volatile late`, the default, keeps such a value as the model has read it, and
tells the newest at the newest message ([decision 62](decisions/0062-values-told-late.md)).

`make bench-volatile MODEL=FILE` wrote this page with {model}, in one run; only tokens are counted.
A system prompt has 150 words, a question 15 and a tool's result 8. Ten turns with answers of 8
tokens, or a loop of 30 calls. llama-server is {peer}, with its defaults.

| client | requests | prompt tokens | Cairn, `--volatile off` | Cairn | llama-server | \
reused by Cairn |
| --- | --: | --: | --: | --: | --: | --: |
{rows}

Columns three to six are tokens: sent, with the lines that tell values, and prefilled. `home` has a
clock with seconds in its system prompt, as Home Assistant; `date` has a day there which changes once,
as OpenCode; `moving` writes a bare time anew into its first question, as Kai; `countdown` has
`<total_tokens>` in its system prompt; `session` an id that is drawn anew; `plain` nothing that
changes. A bare time and an id are kept from their second change on.
"""


def prose(words: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def system(front: str) -> dict:
    return {"role": "system", "content": f"{front}\n\n{prose(150, 1)}"}


def uuid(step: int) -> str:
    digits = random.Random(step).randbytes(16).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


# What stands in front of the system prompt at a request.
FRONTS = {
    "home": lambda step: f"Current time is 10:{step:02}:{37 * step % 60:02}. "
                         "Today's date is 2026-11-28.",
    "date": lambda step: f"Today's date: {'Sat Nov 21' if step < 5 else 'Sun Nov 22'} 2026",
    "moving": lambda step: "You are brief.",
    "countdown": lambda step: f"<total_tokens>{200_000 - 1_931 * step} left</total_tokens>",
    "session": lambda step: f"Session: {uuid(step)}",
    "plain": lambda step: "You are brief.",
}
LOOPS = ("countdown",)
PLAYS = [(client, False) for client in FRONTS] + [(client, True) for client in LOOPS]


def question(client: str, turn: int, step: int) -> dict:
    front = f"The time is 2026-11-21T09:{step:02}:00Z.\n\n" if client == "moving" and turn == 0 else ""
    return {"role": "user", "content": front + prose(15, 100 + turn)}


def requests(client: str, loop: bool):
    """The conversation of each request, without the answers, which the server gives."""
    for step in range(STEPS if loop else TURNS):
        head = [system(FRONTS[client](step))]
        if not loop:
            yield head + [question(client, turn, step) for turn in range(step + 1)]
            continue
        messages = head + [question(client, 0, step)]
        for call in range(step):
            messages += [{"role": "assistant", "content": f"I look at stone {call}."},
                         {"role": "tool", "tool_call_id": f"call_{call}",
                          "content": prose(8, 200 + call)}]
        yield messages


def play(server: Server, client: str, loop: bool):
    """The tokens sent and prefilled."""
    sent = prefilled = 0
    answers = []
    for messages in requests(client, loop):
        if not loop:
            head, questions = messages[:1], messages[1:]
            messages = head
            for asked, answer in zip(questions, answers):
                messages += [asked, {"role": "assistant", "content": answer}]
            messages.append(questions[-1])
        answer = server.post("/v1/chat/completions",
                             {"messages": messages, "max_tokens": 8, "temperature": 0})
        timings = answer["timings"]
        sent += timings["prompt_n"] + timings["cache_n"]
        prefilled += timings["prompt_n"]
        answers.append(answer["choices"][0]["message"]["content"])
    return sent, prefilled


def servers_for(args):
    usual = ["-m", args.model, "-c", CONTEXT, "-np", 1, "-t", args.threads]
    ours = [args.cairn, "serve", *usual, "--no-warm", "--cache-disk", 0, "--chat-template", "chatml"]
    yield "off", [*ours, "--volatile", "off"], ROOT
    yield "late", ours, ROOT
    yield "peer", [*args.peer.command, *usual, "--jinja", "--chat-template", "chatml"], args.peer.folder


def row(figures: dict, client: str, loop: bool) -> str:
    sent, late = figures[client, loop, "late"]
    return (f"| {client}, {'30 tool calls' if loop else 'ten turns'} | {STEPS if loop else TURNS} | "
            f"{sent:,} | {figures[client, loop, 'off'][1]:,} | {late:,} | "
            f"{figures[client, loop, 'peer'][1]:,} | {100 * (1 - late / sent):.1f} % |")


def main(argv: list[str]):
    settings = Settings("volatile", __doc__, argv)
    settings.add("model", path, ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf")
    settings.add("threads", int, machine.cores())
    settings.add("only", words, list(FRONTS), quick=["home", "plain"])
    settings.page("volatile.md")
    args = prepared(settings.parsed())
    chosen(args.only, FRONTS, "ONLY")
    if not args.model.is_file():
        fail(f"there is no model {args.model}: MODEL=FILE names one")
    args.peer = find_peer()
    plays = [(client, loop) for client, loop in PLAYS if client in args.only]
    figures = {}
    for name, command, folder in servers_for(args):
        with Server(command, folder, args.work / f"{name}.log") as server:
            for client, loop in plays:
                figures[client, loop, name] = play(server, client, loop)
                print(client, "loop" if loop else "turns", name, *figures[client, loop, name],
                      flush=True)
    args.out.write_text(PAGE.format(model=args.model.name, peer=machine.peer_version(args.peer),
                                    rows="\n".join(row(figures, *each) for each in plays)))
    print(f"written: {args.out}")
