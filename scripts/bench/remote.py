"""Measures what the remote tier gives and what it costs, beside servers without one: make
bench-remote.

The stores are real ones on this machine: a Valkey (or Redis), and SeaweedFS with a Valkey as its
index; what is not installed is skipped with its reason. Times are those of a whole request for one
token, as its client sees them. The plays are in remote_plays.py. result.json in build/bench-remote
has all figures of each part, and the page their medians; with --parts the others are taken from
there, with --parts none all.
"""

import json
import shutil
import statistics

from bench import remote_plays as plays
from bench.pages import paragraph, table
from bench.servers import made_for_benches
from bench.settings import Settings, chosen, fail, given, path, prepared, words
from fleet import tiers

# One architecture of each class of memory, with its layers; as `make bench-peers` makes them.
MADE = {"attention": ("qwen3", 2), "hybrid": ("qwen35", 4), "sliding-window": ("gpt-oss", 2),
        "recurrent": ("mamba2", 4)}
PARTS = ["moved", "refused", "faults", "idle"]


def median_of(runs: list, name: str) -> float:
    return statistics.median(run[name] for run in runs)


def say(text: str):
    print(text, flush=True)


def moved_rows(args, stores: list) -> tuple[list, list]:
    rows, seen = [], []
    for model in args.models:
        for store in stores:
            runs = []
            for run in range(args.repeat):
                runs.append(plays.move(args, model, store, seed=run))
                say(f"moved, {model.name}, {store.name}: {runs[-1]}")
            anew, moved = median_of(runs, "anew_ms"), median_of(runs, "moved_ms")
            rows.append([model.stem, store.name, f"{anew:,.0f}", f"{moved:,.0f}",
                         f"{moved / anew:.2f}", f"{median_of(runs, 'restarted_ms'):,.0f}",
                         f"{median_of(runs, 'anew_tokens'):,.0f}",
                         f"{median_of(runs, 'moved_tokens'):,.0f}",
                         f"{median_of(runs, 'fetched_mib'):.1f}"])
            seen.append({"model": model.name, "store": store.name, "runs": runs})
    return rows, seen


def refused_rows(args, store) -> tuple[list, list]:
    rows, seen = [], []
    for title, play in [("a prompt shorter than `--remote-min-ms`", plays.refuse_short),
                        (f"a network of {plays.SLOW_KIB_S} KiB/s, first turn", plays.refuse_slow)]:
        runs = [play(args, args.models[-1], store, seed=run) for run in range(args.repeat)]
        say(f"refused, {title}: {runs}")
        keys = [("with_ms", title)]
        if "later_ms" in runs[0]:
            keys.append(("later_ms", f"a network of {plays.SLOW_KIB_S} KiB/s, the turn of the "
                         f"{plays.SLOW_TALKS}th conversation"))
        for key, name in keys:
            without, with_tier = median_of(runs, "without_ms"), median_of(runs, key)
            rows.append([name, f"{without:,.0f}", f"{with_tier:,.0f}",
                         f"{with_tier / without:.2f}"])
        seen.append({"title": title, "runs": runs})
    return rows, seen


def slowest(phase: list) -> str:
    if not phase:
        return "none"
    return f"{statistics.median(phase):,.0f} / {max(phase):,.0f}"


def fault_rows(args, store) -> tuple[list, list]:
    rows, seen = [], []
    for play in plays.play_faults(args, args.models[-1], store):
        say(f"faults: {play}")
        stop = "" if play["stop_s"] is None else f"{play['stop_s']:.1f} s"
        rows.append([play["store"], str(play["requests"]), str(play["failed"]),
                     slowest(play["first_ms"]), slowest(play["later_ms"]), stop])
        seen.append(play)
    return rows, seen


def idle_pairs(args) -> int:
    return 2 * args.repeat + 2


def idle_rows(args, store) -> tuple[list, list]:
    runs = []
    for run in range(idle_pairs(args)):
        runs.append(plays.idle(args, args.models[-1], store, seed=run))
        say(f"idle: {runs[-1]}")
    without, with_tier = median_of(runs, "without_tokens_s"), median_of(runs, "with_tokens_s")
    ratio = statistics.median(run["with_tokens_s"] / run["without_tokens_s"] for run in runs)
    mib = median_of(runs, "with_mib") - median_of(runs, "without_mib")
    return [["tokens a second", f"{without:.0f}", f"{with_tier:.0f}",
             f"{ratio:.3f} times"],
            ["resident memory, MiB", f"{median_of(runs, 'without_mib'):.0f}",
             f"{median_of(runs, 'with_mib'):.0f}", f"{mib:+.0f}"]], runs


TEXTS = {
    "moved": ("A conversation that moves", ["model", "store", "anew, ms", "moved, ms",
              "moved / anew", "restarted, ms", "tokens prefilled anew", "moved", "MiB fetched"],
              "One server prefills a conversation of about {tokens:,} tokens and uploads it. Its "
              "next turn is then sent to another server, which fetches the states; to a server "
              "without a store, which prefills all of it anew; and to the first server after a "
              "restart, which reads its own folder."),
    "refused": ("Where a fetch does not pay", ["case", "without a tier, ms", "with, ms", "ratio"],
                "The tier does not fetch where prefill would be as fast. A server that has just "
                "started assumes a network of 1 Gbit/s; the conversations after the first find it "
                "measured. The short prompt is compared with a server that has a folder alone."),
    "faults": ("While the store fails", ["store", "requests", "failed", "first 10 s, ms",
               "after, ms", "stop"],
               "Next turns of conversations of about {fault_tokens:,} tokens that the store has, "
               "one after the other, on a server that has none of them. Times to the first token "
               "are median / slowest. Where the store cannot be read, prefill is all that is "
               "left, as without a tier; the first requests also wait for their lookup, at most "
               "50 ms. *stop* is the time from SIGTERM to the server's end, with a "
               "`--shutdown-timeout` of {shutdown_s} s."),
    "idle": ("Cost when nothing moves", ["", "without a tier", "with", "difference"],
             "An answer of {answer_tokens} tokens on a server whose uploads have ended, beside one "
             "that has a folder alone. The difference is the median of {idle_pairs} pairs."),
}


def page(args, results: dict, skips: list) -> str:
    sizes = {"tokens": args.tokens, "fault_tokens": args.fault_tokens,
             "shutdown_s": plays.SHUTDOWN_S, "answer_tokens": args.answer_tokens,
             "idle_pairs": idle_pairs(args)}
    lines = ["# The remote tier, measured", "",
             paragraph("The gains and costs of [the remote tier](remote.md), on made models of "
                       "random weights and real stores on the same machine. `make bench-remote` "
                       f"writes this page; figures are medians of {args.repeat} runs.")]
    for part, (title, head, text) in TEXTS.items():
        if part in results:
            lines += [f"## {title}", "", paragraph(text.format(**sizes)),
                      table(head, results[part][0], 2 if part == "moved" else 1)]
    lines += [f"Skipped: {skip}." for skip in skips]
    return "\n".join(lines).rstrip() + "\n"


def arguments(argv: list[str]):
    settings = Settings("remote", __doc__, argv)
    settings.add("model", path, None, "a file, in place of a made one of each class")
    settings.add("tokens", int, 20000, quick=2000)
    settings.add("repeat", int, 3, quick=1)
    settings.add("parts", words, PARTS, "some of them, or none")
    settings.page("remote_bench.md", whole=not given("model", argv))
    args = settings.parsed()
    args.parts = [] if args.parts == ["none"] else chosen(args.parts, PARTS, "PARTS")
    args.fault_tokens = 300 if args.quick else 1500
    args.fault_requests = 6 if args.quick else 60
    args.answer_tokens = 64 if args.quick else 512
    return args


def models_of(args) -> list:
    if args.model:
        return [args.model]
    made = {"hybrid": MADE["hybrid"]} if args.quick else MADE
    return [made_for_benches(args.lab, *made[name])
            for name in sorted(made, key=lambda name: name == "hybrid")]


def stores_here() -> tuple[list, list]:
    """The stores, and why others are none."""
    stores, skips = [], []
    for store in (tiers.Valkey(), tiers.Seaweed()):
        if reason := store.missing():
            skips.append(f"{store.name}: {reason}")
            say(f"skipped: {skips[-1]}")
        else:
            stores.append(store)
    return stores or fail(skips[0]), skips


def main(argv: list[str]):
    args = prepared(arguments(argv))
    results, kept = {}, args.work / "result.json"
    if args.parts != PARTS and kept.is_file():
        results = json.loads(kept.read_text())
    kept.write_text(json.dumps(results, indent=1) + "\n")
    args.work /= "plays"  # what an earlier run left there must not spare this one anything
    shutil.rmtree(args.work, ignore_errors=True)
    args.work.mkdir()
    args.models = models_of(args)
    stores, skips = stores_here()
    for part, measure in [("moved", lambda: moved_rows(args, stores)),
                          ("refused", lambda: refused_rows(args, stores[0])),
                          ("faults", lambda: fault_rows(args, stores[0])),
                          ("idle", lambda: idle_rows(args, stores[0]))]:
        if part in args.parts:
            results[part] = measure()
            kept.write_text(json.dumps(results, indent=1) + "\n")
    args.out.write_text(page(args, results, skips))
    say(f"written: {args.out}")
