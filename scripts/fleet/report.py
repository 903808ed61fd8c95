"""The lines and the page of a fleet's figures."""


def title(play) -> str:
    event = f", one {play.event}" if play.event else ""
    return f"{play.scenario}, {play.api}, {play.setup}{event}"


def line(play) -> str:
    bound = f" (at most {play.ratio_max})" if play.ratio_max is not None else ""
    failed = f"{play.failed} failed" + (f", {play.cut} of them cut streams" if play.cut else "")
    seen = {"yes": ", front_file.py saw it", "no": ", front_file.py missed it"}.get(play.front_file, "")
    busiest = "" if play.busiest_max is None else (
        f"; the busiest server answered {play.busiest_share:.0%} (at most {play.busiest_max:.0%})")
    quiet = "" if not play.quiet_turns else (
        f"; after the quiet {play.quiet_turns} turns, {play.quiet_moved} moved, "
        f"{play.quiet_tokens_per_turn:.0f} tokens each")
    return (f"{title(play)}: {play.read_tokens:,.0f} tokens prefilled, {play.ratio:.2f} x{bound}; "
            f"{play.turns} turns, {play.moved} moved, {failed}; first token "
            f"{play.first_token_ms_p50:.0f}/{play.first_token_ms_p95:.0f} ms; "
            f"{play.seconds:.1f} s{seen}{busiest}{quiet}")


def row(play) -> str:
    bound = "" if play.ratio_max is None else f"{play.ratio_max:.2f}"
    failed = f"{play.failed}" + (f" ({play.cut} cut)" if play.cut else "")
    quiet = "" if not play.quiet_turns else (
        f"{play.quiet_moved} of {play.quiet_turns} moved, {play.quiet_tokens_per_turn:.0f} tokens")
    return (f"| {play.scenario} | {play.api} | {play.setup} | {play.event} | "
            f"{play.read_tokens:,.0f} | {play.ratio:.2f} | {bound} | {play.turns} | {play.moved} | "
            f"{failed} | {play.first_token_ms_p50:.0f} / {play.first_token_ms_p95:.0f} | {quiet} |")


def markdown(plays, skips, command: str, places: str, args) -> str:
    lines = [f"`{command}`: four servers in {places}, {args.clients} clients at a time, "
             f"{args.model_text}.", "",
             "| scenario | API | setup | one server is | tokens prefilled | x one server | "
             "at most | turns | moved | failed | first token p50 / p95, ms | turns after the quiet |",
             "| --- " * 12 + "|"]
    lines += [row(play) for play in plays]
    lines += [""] + [f"Skipped: {skip}." for skip in skips] if skips else []
    return "\n".join(lines) + "\n"
