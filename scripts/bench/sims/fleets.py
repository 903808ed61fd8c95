"""Plays traces on simulated fleets and writes docs/fleet_simulation.md: make fleets.

What a run found is kept in build/fleets/results.json (runs.py). The exit code is 0 when every run
that the page needs is there.
"""

from pathlib import Path

from bench.pages import number, table
from bench.settings import ROOT
from bench.sims.fleets_plan import (BALANCES, CELL, CELLS_PLAYED, CLAUDE, FRONTS, LARGE, MIDDLE,
                                    MOONCAKE, PARTS, REMOTE, SERVER, SESSIONS, SMALL, STRETCH,
                                    WITH_DISK, Plan, balance_run, front_run, planned, remote_run,
                                    scale_fronts, scale_run)
from bench.sims.policies_plan import TRACES as ALL_TRACES
from bench.sims.runs import SimSettings, do_runs, opened, told

TRACES = [CLAUDE, MOONCAKE]
GIB = 1 << 30

ABOUT = f"""# Fleets of servers, simulated

`make fleets` plays recorded requests on many simulated servers behind a front (`cairn-lab sim
--servers N`) and writes this page. Each server is the one of [policies.md](policies.md): the real
scheduler, cache and policies with a memory and a folder of its own, and a model that is only sizes
and speeds. The traces are not in the repository: `make fleets TRACES=folder` names their folder.
An interrupted run continues where it stopped. Everything on this page is simulated, except the
requests a minute, which are measured, and [the sizing table](#sizing), which says it of each
figure.

## The model

- **The fronts.** `hash`: a ring of hashes of the servers, on which a hash of the conversation
  finds the next; a server with more than `--balance-factor` times the mean of requests in flight is
  passed over (HAProxy's `balance hash`, `hash-type consistent`, `hash-balance-factor 300`).
  `prefix`: the server with the highest `2 * resumable tokens / prompt tokens + queue score`, as
  llm-d's endpoint picker scores it with prefix-cache-scorer at weight 2 and queue-scorer at
  weight 1. The queue score is 1 for the shortest queue, 0 for the longest, and 1 for all if they are
  equal. Ties go to the fewest requests in flight. It knows at once and exactly what each server can
  resume; real events come up to a tenth of a second later. `random` and `round-robin` know nothing.
- **Cells.** With `--cell-servers` a hash of the conversation chooses the cell, and the front chooses
  a server in it. `--cells-played M` plays the first M cells and leaves the other requests out.
- **The remote tier** (`--remote`) stands behind the folders. A server writes a header's checkpoint
  that two conversations used, at once; the newest checkpoint of a conversation that was idle for
  `--remote-after-s`, with the segments that are not there yet; and what its folder evicts. It
  writes at most `--remote-write-mib-s`. Before a request is served, a checkpoint is fetched if more
  than `--remote-min-ms` of prefill is left and the transfer takes less than half of the time that it
  spares. Of a prompt, the trace does not say what follows in its last, unfilled block; the newest
  checkpoint is the one at or before its last full block. Fetched files go into the folder, and the
  cache takes them in by the server's own code. `--remote-gib` is the budget; the least recently used
  leaves.
- **A lost server** (`--lose-server`): after half of the requests the first server ends with its
  memory and its folder. Uploads that it had not finished are lost too.
- **Time.** A server prefills one prompt after the other; a request waits for those before it. A
  fetch delays its own request alone. Answers take 20 ms a token and count as in flight, but no
  server computes them.

## Larger traces from small ones

`--copies K` plays a trace K times side by side. Every copy has the same lengths in the same order
and the same headers, and its own private tokens:

- A **conversation** is a session of the trace. Mooncake's trace names none: there it is the requests
  with the same first private block.
- A **header** is shared by all copies: a session's tools and system prompt, where the trace says how
  long they are (claude-code), and blocks that several sessions share. Where no sessions are named, a
  header ends where sixteen different blocks follow (in Mooncake's trace that is the first block
  alone, 512 tokens).
- Copies of a trace with times begin within ten minutes, evenly; copies of sessions without times
  begin at different sessions, and the next session begins when one ends.

Copies make the same kind of load larger. They cannot show what is rare in the trace, and sessions of
claude-code share their header with their copies only: real sessions share more.

## The servers here

qwen3.5-35b-a3b (20 KiB of KV a token, snapshots of 66 MB) at 6,000 prefilled tokens a second, 4
slots. claude-code: {int(SERVER[CLAUDE][1]) // 1024} GiB of memory and {SESSIONS[CLAUDE]} sessions
side by side a server; mooncake-conversation: {int(SERVER[MOONCAKE][1]) // 1024} GiB, at
{STRETCH[MOONCAKE]} times the trace's times, because four servers of this speed could not serve its hour in an hour. A copy of the trace for four servers. Where there is a folder, it has {WITH_DISK[1]} GiB.

- **Hits** is the share of prompt tokens that needed no prefill, in percent.
- **Over new** is the ratio of prefilled tokens to those that no earlier request of any server has:
  no fleet prefills fewer.
- **Over one large** is the ratio to one server with the memory, slots and speed of all.
- **Moved** counts requests on another server than the one before of their conversation.
- **Most read** is the prefilled tokens of the busiest server over the mean.
"""


class Figures:
    """The results of the runs of a plan, in the form of the page."""

    def __init__(self, results, first: int = 0):
        self._results, self._first = results, first

    def raw(self, run):
        if self._first:
            run = type(run)(run.trace, run.servers, run.front, run.more, self._first)
        return self._results.get(run)

    def get(self, run, *keys):
        found = self.raw(run)
        for key in keys:
            found = found and found.get(key)
        return found

    def hits(self, run):
        rate = self.get(run, "token_hit_rate")
        return None if rate is None else rate * 100


def fronts_part(figures: Figures) -> str:
    text = "## Fronts: four servers\n\n"
    for trace in TRACES:
        lines = []
        for front in FRONTS:
            run = front_run(trace, front)
            lines.append([front, number(figures.hits(run), 2),
                          number(figures.get(run, "read_tokens"), 0),
                          number(figures.get(run, "read_over_unavoidable"), 3),
                          number(figures.get(run, "read_over_one_large"), 3),
                          number(figures.get(run, "moved"), 0),
                          number(figures.get(run, "read_tokens_of_servers", "max_over_mean"), 2),
                          number(figures.get(run, "requests_per_min"), 0)])
        large = figures.get(front_run(trace, FRONTS[0]), "one_large_server")
        if large:
            new = figures.get(front_run(trace, FRONTS[0]), "unavoidable_tokens")
            lines.append(["one large server", number(large["token_hit_rate"] * 100, 2),
                          number(large["read_tokens"], 0), number(large["read_tokens"] / new, 3),
                          "1", "0", "1", ""])
        text += f"**{trace}**\n\n" + table(
            ["", "Hits", "Prefilled", "Over new", "Over one large", "Moved", "Most read",
             "Played, requests a minute"], lines) + "\n"
    return text


def scale_part(figures: Figures) -> str:
    text = (f"## 4, 64 and 1,000 servers\n\n{LARGE:,} servers are sixteen cells of {CELL} at most, "
            f"of which {CELLS_PLAYED} is played: a conversation never leaves its cell, so the others "
            f"are like it. {MIDDLE} servers are one cell.\n\n")
    sizes = [SMALL, MIDDLE, LARGE]
    for trace in TRACES:
        rows = []
        for size in sizes:
            for front in scale_fronts(size):
                run = scale_run(trace, size, front)
                rows.append([f"{size:,}, {front}", number(figures.get(run, "servers_played"), 0),
                             number(figures.get(run, "requests"), 0),
                             number(figures.hits(run), 2),
                             number(figures.get(run, "read_over_unavoidable"), 3),
                             number(figures.get(run, "moved"), 0),
                             number(figures.get(run, "read_tokens_of_servers", "max_over_mean"), 2),
                             number(figures.get(run, "requests_per_min"), 0)])
        text += f"**{trace}**\n\n" + table(
            ["Servers, front", "Played", "Requests", "Hits", "Over new", "Moved", "Most read",
             "Requests a minute"], rows) + "\n"
    return text


def gib(value) -> str:
    return "–" if value is None else f"{value / GIB:,.1f}"


def remote_row(figures: Figures, run, front: str, lost: bool, remote: bool) -> list:
    half = figures.get(run, "second_half", "token_hit_rate")
    moved = ["", "", "", ""]
    if remote:
        moved = [gib(figures.get(run, "remote_tier", "uploaded_bytes")),
                 gib(figures.get(run, "remote_tier", "downloaded_bytes")),
                 number(figures.get(run, "remote_tier", "fetches"), 0),
                 number(figures.get(run, "remote_tier", "uploads_left_out"), 0)]
    return [front + (", one lost" if lost else "") + (", remote" if remote else ""),
            number(figures.hits(run), 2), number(None if half is None else half * 100, 2),
            number(figures.get(run, "read_over_unavoidable"), 3), *moved]


def remote_part(figures: Figures) -> str:
    text = ("## The remote tier, and a lost server\n\nFour servers with folders. **Second half** is "
            "the hits of the second half of the requests: after the loss, where a server is "
            "lost. **Left out** counts checkpoints that were not worth their bytes, or for which the "
            "server's uploads were a minute behind.\n\n")
    for trace in TRACES:
        lines = []
        for front, lost in REMOTE:
            for remote in (False, True):
                lines.append(remote_row(figures, remote_run(trace, front, remote, lost), front,
                                        lost, remote))
        text += f"**{trace}**\n\n" + table(
            ["", "Hits", "Second half", "Over new", "Up, GiB", "Down, GiB", "Fetches",
             "Left out"], lines) + "\n"
    return text


def balance_part(figures: Figures) -> str:
    text = ("## Points on the ring, and the limit of load\n\nSixteen servers behind `hash`. HAProxy "
            "gives each server 16 points for each unit of `weight`: 256 are `weight 16` on every "
            "server. A factor of 3 is `hash-balance-factor 300`, 0 no limit.\n\n")
    rows = []
    for trace in TRACES:
        for points, factor in BALANCES:
            run = balance_run(trace, points, factor)
            rows.append([f"{trace}, {points} points, factor {factor:g}",
                         number(figures.hits(run), 2), number(figures.get(run, "moved"), 0),
                         number(figures.get(run, "requests_of_servers", "max_over_mean"), 2),
                         number(figures.get(run, "read_tokens_of_servers", "max_over_mean"), 2),
                         number(figures.get(run, "wait_ms_p90"), 0)])
    return text + table(["", "Hits", "Moved", "Most requests over mean", "Most read over mean",
                         "Wait p90, ms"], rows)


def write_page(page: Path, plan: Plan, results, sizing: Path, first: int = 0) -> int:
    """Returns how many runs the page lacks."""
    figures = Figures(results, first)
    page.parent.mkdir(parents=True, exist_ok=True)
    runs = plan.all(list(plan.runs))
    missing = sum(results.get(run) is None for run in runs)
    parts = [ABOUT]
    if missing:
        parts.append(f"**Not complete: {missing} of {len(runs)} runs are missing (–).**\n")
    parts += [fronts_part(figures), scale_part(figures), remote_part(figures),
              balance_part(figures)]
    if sizing.is_file():
        parts.append(sizing.read_text())
    page.write_text("\n".join(part.rstrip("\n") + "\n" for part in parts))
    return missing


def main(argv: list[str]) -> int:
    args = SimSettings("fleets", __doc__, argv, "fleet_simulation.md", PARTS).parsed()
    program, traces, results = opened(args, {name: ALL_TRACES[name] for name in TRACES})
    plan = planned(args.first)
    failed = do_runs(args, program, traces, results, plan.all(args.only))
    missing = write_page(args.out, plan, results, ROOT / "docs" / "fleet_sizing.md", args.first)
    return told(args, failed, missing)
