"""Measures what clients with a changing value in the old part of their prompts cost: tokens
prefilled without and with --volatile late, and by llama-server: make bench-volatile.

Each client talks for ten turns, or through a loop of 20 tool calls. One server runs at a time, a third
of SECONDS each: what does not fit is left out, and the page names it. Only tokens are compared, so a
busy machine does no harm. Writes docs/volatile.md.
"""

import random
import time

from bench import machine
from bench.servers import ROOT, Server, find_peer
from bench.settings import Settings, chosen, fail, path, prepared, words

WORDS = """the of a stone hill path cairn walker marks where fog hides it and in winter snow lies
deep so that nobody finds their way without one they are built by hand from what is near each adds
another on top when passing some are old as roads others fell long ago people still look for
them""".split()
CONTEXT = 8192
PAGE = """# Values that change in old text

Clients write dates, clocks, countdowns and random ids into their system prompts, or write them anew
into old messages. `--volatile late`, the default, keeps such a value as the model has read it, and
tells the newest at the newest message ([decision 62](decisions/0062-values-told-late.md)).

`make bench-volatile MODEL=FILE` wrote this page with {model}, in one run; only tokens are counted.
A system prompt has 150 words, a question 15 and a tool's result 8. {turns} turns with answers of 8
tokens, or a loop of {steps} calls. llama-server is {peer}, with its defaults.{left_out}

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
    "plain": lambda step: "You are plain.",
}
LOOPS = ("countdown",)
LOOP_BEGINS = 40  # so that no loop has the values of the turns before it
PLAYS = [(client, False) for client in FRONTS] + [(client, True) for client in LOOPS]


def question(client: str, turn: int, step: int) -> dict:
    front = f"The time is 2026-11-21T09:{step:02}:00Z.\n\n" if client == "moving" and turn == 0 else ""
    return {"role": "user", "content": front + prose(15, 100 + turn)}


def requests(client: str, loop: bool, count: int):
    """The conversation of each request, without the answers, which the server gives."""
    for step in range(count):
        head = [system(FRONTS[client](step + (LOOP_BEGINS if loop else 0)))]
        if not loop:
            yield head + [question(client, turn, step) for turn in range(step + 1)]
            continue
        messages = head + [question(client, 0, step)]
        for call in range(step):
            messages += [{"role": "assistant", "content": f"I look at stone {call}."},
                         {"role": "tool", "tool_call_id": f"call_{call}",
                          "content": prose(8, 200 + call)}]
        yield messages


def play(server: Server, client: str, loop: bool, count: int):
    """The tokens sent and prefilled."""
    sent = prefilled = 0
    answers = []
    for messages in requests(client, loop, count):
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


def measured(args, plays: list, begin_s: float) -> dict:
    """The figures of each client and server. A play that would begin after the server's time is
    left out."""
    figures = {}
    for place, (name, command, folder) in enumerate(servers_for(args), 1):
        end_s = begin_s + args.seconds * place / 3
        with Server(command, folder, args.work / f"{name}.log") as server:
            for client, loop in plays:
                if time.monotonic() >= end_s:
                    print(client, "loop" if loop else "turns", name, "left out: no time", flush=True)
                    continue
                count = args.steps if loop else args.turns
                figures[client, loop, name] = play(server, client, loop, count)
                print(client, "loop" if loop else "turns", name, *figures[client, loop, name],
                      flush=True)
    return figures


def row(figures: dict, client: str, loop: bool, count: int) -> str:
    sent, late = figures[client, loop, "late"]
    return (f"| {client}, {'tool calls' if loop else 'turns'} | {count} | "
            f"{sent:,} | {figures[client, loop, 'off'][1]:,} | {late:,} | "
            f"{figures[client, loop, 'peer'][1]:,} | {100 * (1 - late / sent):.1f} % |")


def page(args, plays: list, figures: dict, peer: str) -> str:
    whole = [each for each in plays
             if all((*each, name) in figures for name in ("off", "late", "peer"))]
    missing = [client + (", tool calls" if loop else "") for client, loop in plays
               if (client, loop) not in whole]
    left_out = f" Left out, for want of time: {'; '.join(missing)}." if missing else ""
    rows = [row(figures, client, loop, args.steps if loop else args.turns)
            for client, loop in whole]
    return PAGE.format(model=args.model.name, peer=peer, turns=args.turns, steps=args.steps,
                       left_out=left_out, rows="\n".join(rows))


def main(argv: list[str]):
    settings = Settings("volatile", __doc__, argv)
    settings.add("model", path, ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf")
    settings.add("threads", int, machine.cores())
    settings.add("only", words, list(FRONTS), quick=["home", "plain"])
    settings.add("turns", int, 10, "of each conversation", quick=3)
    settings.add("steps", int, 20, "tool calls of each loop", quick=3)
    settings.add("seconds", int, 540, "for all three servers: no client begins after its share")
    settings.page("volatile.md")
    args = prepared(settings.parsed())
    chosen(args.only, FRONTS, "ONLY")
    if not args.model.is_file():
        fail(f"there is no model {args.model}: MODEL=FILE names one")
    args.peer = find_peer()
    plays = [(client, loop) for client, loop in PLAYS if client in args.only]
    figures = measured(args, plays, time.monotonic())
    args.out.write_text(page(args, plays, figures, machine.peer_version(args.peer)))
    print(f"written: {args.out}")
