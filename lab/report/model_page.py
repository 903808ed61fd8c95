"""The page of one real model's file on ours and a peer: what `make bench-peers MODEL=file` writes.

Every server got the same prompts (`cairn-lab bench --fixed-answers`), so answers compare."""

from report.agreement import Agreement, agreement
from report.claims import peer_ratios
from report.page import Block, Bullets, Cell, Heading, Paragraph, Table
from report.result import Result, ScenarioRun, Server, model_file
from report.scenario_page import command_blocks
from report.summary import (first_token_ratios, geometric_mean, good_runs, partner_of,
                            scenario_names, summarize, tokens_of)
from report.text import (count_text, joined, ms_text, per_run_text, ratio_text,
                         sooner_text)

ABOUT = """How many tokens of each prompt two servers prefill on this model, how long a client waits
for the first token, and whether their greedy answers are the same text. `make bench-peers
MODEL=file.gguf` writes this page; every figure is from one run of it."""

LEGEND = """Tokens are those of one run, by the model's own tokenizer and chat template. The *lower
bound* is what no server can avoid: each prompt without the longest beginning that an earlier prompt
or answer of its scenario had, and at least its last token. *Prefilled* is on the request's own
time. Times are the client's; their ratio is a geometric mean over pairs of requests. Lengths of the
scenarios are multiplied by {scale:g}; their texts come from seed {seed}. Conversations continue
with made-up answers in place of the generated ones, so both servers get the same prompts."""

CAUSE = """A different answer is not by itself a wrong one. Greedy sampling takes the likeliest
token. The logits depend a little on how many tokens are prefilled at once, so on where a server
resumes and cuts a prompt; on quantized weights that can move a token's log-probability by a few
tenths. Where two tokens are nearly equally likely, that chooses between them, and the text goes on
differently from there."""

CONTROL = """The same server with other batches shows how often that happens without another server:
{name} differs from {peer} in {different} of {all} requests."""

OTHER_PROMPTS = """The servers made prompts of other lengths of {count}, so those answers are to
different prompts: they render the chat template differently there. A built-in template, for
example, shows the tools on one server and leaves them out on another. To the other prompts, {alike}
answers are the same."""

TEXT_SHOWN = 60


def _shown(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN else text[:TEXT_SHOWN - 1] + "…"


def _requests(count: int) -> str:
    return f"{count_text(count)} request{'' if count == 1 else 's'}"


def _alike(found: Agreement) -> str:
    return f"{count_text(found.alike)} of {count_text(len(found.pairs))}" if found.pairs else "-"


def _shared_runs(result: Result, server: Server) -> list[ScenarioRun]:
    """Of the server, those that went well on every server."""
    return [run for name in scenario_names(result) for run in good_runs(server, name)
            if all(partner_of(run, other) for other in result.servers)]


def _prefilled(result: Result, server: Server) -> str:
    tokens = tokens_of(_shared_runs(result, server))
    if not tokens.lower_bound:
        return f"{server.name} prefilled {count_text(tokens.read)} tokens."
    return (f"{server.name} prefilled {count_text(tokens.read)} tokens, "
            f"{ratio_text(tokens.read_ratio)} times its lower bound of "
            f"{count_text(tokens.lower_bound)}.")


def _summary(result: Result) -> Bullets:
    items = [_prefilled(result, server) for server in result.servers]
    ours, peers = result.servers[0], result.servers[1:]
    for ratio, peer in zip(peer_ratios([result])[:1], peers):
        items.append(f"Time to the first token, ours over {peer.name}'s: "
                     f"**{ratio_text(ratio.mean)}**, the geometric mean of the scenarios; "
                     f"{sooner_text(ratio.mean)}.")
        found = agreement(ours, peer, scenario_names(result))
        items.append(f"The same greedy answer as {peer.name}'s: **{_alike(found)}** requests.")
    for control in peers[1:]:
        found = agreement(control, peers[0], scenario_names(result))
        items.append(f"For comparison, {control.name} gives the same answer as {peers[0].name}: "
                     f"{_alike(found)} requests.")
    return Bullets(items)


def _row(result: Result, server: Server, scenario: str) -> list[str | Cell]:
    ours, summary = result.servers[0], summarize(server, scenario)
    tokens, runs = summary.tokens, summary.runs
    cells: list[str | Cell] = [scenario, server.name]
    for total, of in ((tokens.sent, runs), (tokens.read, runs),
                      (tokens.lower_bound, runs if tokens.lower_bound else 0)):
        cells.append(Cell(per_run_text(total, of), total / max(of, 1)))
    cells.append(Cell(ratio_text(tokens.read_ratio), tokens.read_ratio))
    cells.append(Cell(ms_text(summary.first_token(0.5)), summary.first_token(0.5)))
    if server is ours:
        return [*cells, "", ""]
    mean = geometric_mean(first_token_ratios(ours, server, scenario))
    return [*cells, Cell(ratio_text(mean), mean), _alike(agreement(ours, server, [scenario]))]


def _figures(result: Result) -> list[Block]:
    rows, errors = [], []
    for scenario in scenario_names(result):
        for server in result.servers:
            summary = summarize(server, scenario)
            if summary.runs:
                rows.append(_row(result, server, scenario))
            errors += [f"{scenario} on {server.name} ended early: {error}"
                       for error in summary.errors]
    table = Table(["scenario", "server", "sent", "prefilled", "lower bound",
                   "prefilled ÷ lower bound", "first token, median", "first token, ours ÷ theirs",
                   "same answers"], rows, 2)
    return [table, *([Bullets(errors)] if errors else [])]


def _control(control: Server, peer: Server, scenarios: list[str]) -> Paragraph:
    found = agreement(control, peer, scenarios)
    return Paragraph(joined(CONTROL.format(name=control.name, peer=peer.name,
                                            different=count_text(len(found.different)),
                                            all=count_text(len(found.pairs)))))


def _differences(result: Result) -> list[Block]:
    (ours, peer, *controls), scenarios = result.servers, scenario_names(result)
    found = agreement(ours, peer, scenarios)
    blocks: list[Block] = [Heading(2, f"Answers that differ from {peer.name}'s")]
    if not found.pairs:
        return [*blocks, Paragraph("No answers could be compared.")]
    if found.other_prompts:
        blocks.append(Paragraph(joined(OTHER_PROMPTS.format(
            count=_requests(found.other_prompts), alike=_alike(found.of_same_prompts())))))
    if not found.different:
        return [*blocks, Paragraph("None do.")]
    rows: list[list[str | Cell]] = [
        [pair.scenario, pair.ours.what, "same" if pair.same_prompt else "other",
         _shown(pair.ours.answer), _shown(pair.theirs.answer)] for pair in found.different]
    return [*blocks, Paragraph(joined(CAUSE)),
            *[_control(control, peer, scenarios) for control in controls],
            Table(["scenario", "request", "prompt length", "ours", "theirs"], rows, 5)]


def model_page(results: list[Result], facts: list[Block]) -> list[Block]:
    """`results`: merged, of one model; `facts`: on the model, the machine and the commands."""
    played = [result for result in results if scenario_names(result)]
    if not played:
        return [Heading(1, "Benchmarks of a model"), Paragraph("Nothing was played.")]
    result = played[0]
    ours = result.servers[0]
    blocks: list[Block] = [
        Heading(1, f"Benchmarks of {model_file(ours)}"), Paragraph(joined(ABOUT)),
        Heading(2, "In short"), _summary(result), Heading(2, "Figures"),
        Paragraph(joined(LEGEND.format(scale=result.scale, seed=result.seed))),
        *_figures(result)]
    if len(result.servers) > 1:
        blocks += _differences(result)
    return [*blocks, Heading(2, "How it was done"), *facts, *command_blocks([result])]
