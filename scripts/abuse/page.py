"""The cells, lines and page of the attacks' figures."""

import statistics

from abuse.wire import FULL, SHORT
from bench.pages import item, paragraph, table

TIMES_SLOW = 3  # a second client that waits longer is counted as slowed down
MS_LEAST = 20  # but less than this is noise


def count_text(counts: dict) -> str:
    return ", ".join(str(name) if count == 1 else f"{name} × {count:,}"
                     for name, count in sorted(counts.items()))


def answers(result) -> str:
    return count_text(result.statuses) or "nothing"


def ms(value: float) -> str:
    return f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def ratio(result) -> float | None:
    if not result.before_ms or not result.beside_ms:
        return None
    return statistics.median(result.beside_ms) / max(statistics.median(result.before_ms), 0.01)


def times(result) -> str:
    before = ms(statistics.median(result.before_ms)) if result.before_ms else "none"
    if (times_longer := ratio(result)) is None:
        return f"{before} → none"
    return f"{before} → {ms(statistics.median(result.beside_ms))} ms (× {times_longer:.1f})"


def worst(result) -> str:
    seen = [f"{ms(max(result.beside_ms))} ms"] if result.beside_ms else []
    if result.beside_failed:
        seen.append(count_text(result.beside_failed))
    return "; ".join(seen)


def memory(result) -> str:
    before, peak, after = result.rss_mib
    if result.ended:
        return "-"
    return f"+{max(0, peak - before):,.0f}, then {after - before:+,.0f} MiB"


def back(result) -> str:
    return "-" if result.back_s is None else f"{result.back_s:.1f} s"


def ending(result) -> str:
    if result.ended:
        return f"**ended ({result.ended})**"
    if result.health_s is None:
        return "**/health is silent**"
    if result.answer is None:
        return "no answer afterwards"
    return "" if result.answer == result.usual_answer else "another answer afterwards"


def cells(result) -> list:
    if result is None:
        return ["", "", "", "", ""]
    answered = "; ".join(part for part in (answers(result), ending(result)) if part)
    return [answered, times(result), worst(result), memory(result), back(result)]


def is_slowed(result) -> bool:
    return (not result.beside_ms or (ratio(result) or 0) > TIMES_SLOW and
            statistics.median(result.beside_ms) > MS_LEAST)


def summary(results: list, name: str) -> str:
    mine = [result for result in results if result.server == name]
    slowed = sum(is_slowed(result) for result in mine)
    failed = sum(bool(result.beside_failed) for result in mine)
    ended = sum(bool(result.ended) for result in mine)
    silent = sum(result.health_s is None and not result.ended for result in mine)
    late = sum(result.back_s is None and not result.ended for result in mine)
    grown = max((result.rss_mib[1] - result.rss_mib[0] for result in mine), default=0)
    return (f"{name}: its process ended in {ended} of {len(mine)} attacks, `/health` was silent "
            f"after {silent}, and the second client was not served as before again within the "
            f"limit after {late}. Beside {slowed} of them its usual first token took more than "
            f"{TIMES_SLOW} times as long (and more than {MS_LEAST} ms), or there was none; beside "
            f"{failed} at least one of its chats was refused, cut or late. Memory grew by "
            f"{grown:,.0f} MiB at most.")


TEXT = """A hostile client and a second one share a server, each with a key of its own. The hostile
client plays one attack at a time. The second one asks for four tokens, again and again, never with
a prompt that was asked before; the time to its first token is taken before the attack and beside
it: medians, and the longest. Its chats that got no answer are listed by their reason: a status,
`closed`, `cut` in the middle of a stream, or `late`, after {limit_s:.0f} seconds."""

COMPARED = """Both servers have the same made model (random weights, some 0.4 million parameters, so
that hardly any time is the model's) and projector, {context:,} tokens of context in {slots} slots,
threads: {threads}, the same keys and the same limit for cached states. Cairn runs with `--reuse
exact`, so that its answers can be compared; llama-server with `--embeddings`, and with
`--reranking` for the attacks on `/rerank`. Servers, attack and second client run on the same cores.
{repeated}. {connections} connections are held for {hold_s:g} seconds. A long text has {mib} MiB.
What a column says: what the server answered (`left`: the client closed the connection, as the
attack wants it; `closed`: the server did); the first token of the second client; the longest one,
and chats without an answer; how much the process's resident memory grew at most, and what stayed
when all was over; and after how many seconds the second client was served as before. An attack that
llama-server has no port for has empty columns. A request that llama-server does not know, or
ignores, costs it nothing: such a row compares little."""


def _repeated(scale) -> str:
    if scale.repeat_s == 0:
        return "Each request is sent once"
    return (f"Each request is sent again and again for {scale.repeat_s:g} seconds, by "
            f"{scale.senders} clients at once")


def page(results: list, facts: dict) -> str:
    scale = SHORT if facts["short"] else FULL
    names = list(dict.fromkeys(result.server for result in results))
    lines = ["# Hostile clients", "", paragraph(
        "What a server answers to a client that wants to harm it, and what that costs another "
        f"client. `make abuse{' SHORT=1' if facts['short'] else ''}` writes this page, "
        f"in {facts['minutes']} min on {facts['date']}: {facts['cairn']}" +
        (f"; llama-server {facts['peer']}" if facts["peer"] else "; no llama-server") +
        f". {facts['cores']} cores ({facts['processor']}); the load of other programs was "
        f"{facts['load']:.1f}."),
        paragraph(TEXT.format(limit_s=scale.limit_s)), "## In short", ""]
    for name in names:
        lines.append(item(summary(results, name)))
    lines += ["", "## What is compared", "", paragraph(COMPARED.format(
        context=facts["context"], slots=facts["slots"], threads=facts["threads"],
        repeated=_repeated(scale), hold_s=scale.hold_s,
        connections=scale.connections, mib=scale.text_bytes >> 20))]
    by_attack = {}
    for result in results:
        by_attack.setdefault(result.group, {}).setdefault(result.title, {})[result.server] = result
    columns = ["answers", "first token", "worst", "memory", "back after"]
    head = ["attack"] + [f"{name}: {column}" for name in names for column in columns]
    for group, attacks in by_attack.items():
        rows = [[title, *(cell for name in names for cell in cells(seen.get(name)))]
                for title, seen in attacks.items()]
        lines += [f"## {group}", "", table(head, rows, len(head))]
    lines += _faults(results)
    return "\n".join(lines).rstrip() + "\n"


def _faults(results: list) -> list:
    faults = [f"- {result.title}: {fault}" for result in results if result.server == "cairn"
              for fault in result.faults]
    return ["## Where Cairn failed", "", *faults] if faults else []

