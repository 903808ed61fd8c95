"""Sums, ratios and percentiles of scenario runs, and two servers compared request by request.

Runs that ended early count for nothing but their error."""

import math
from dataclasses import dataclass

from report.result import Request, Result, ScenarioRun, Server

ALLOWED_RATIO = 1.02
ALLOWED_TOKENS = 8  # of each request


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie, on a straight line between the two
    nearest of them; 0 when there are none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    rank = share * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])


def geometric_mean(values: list[float]) -> float:
    """0 when there are none. All must be positive."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0.0


def allowed_tokens(lower_bound: int, requests: int) -> float:
    """How many tokens a run may prefill on its requests' own time."""
    return ALLOWED_RATIO * lower_bound + requests * ALLOWED_TOKENS


@dataclass
class Tokens:
    """Of one run or of several, all requests together."""
    requests: int = 0
    sent: int = 0
    read: int = 0
    lower_bound: int = 0  # 0: that of one request at least is not known
    read_in_all: int = 0

    @property
    def read_ratio(self) -> float:
        return self.read / self.lower_bound if self.lower_bound else 0.0

    @property
    def read_in_all_ratio(self) -> float:
        return self.read_in_all / self.lower_bound if self.lower_bound else 0.0


def tokens_of(runs: list[ScenarioRun]) -> Tokens:
    requests = [request for run in runs for request in run.requests]
    known = all(request.lower_bound_tokens > 0 for request in requests)
    return Tokens(len(requests), sum(request.prompt_tokens for request in requests),
                  sum(request.read_tokens for request in requests),
                  sum(request.lower_bound_tokens for request in requests) if known else 0,
                  sum(run.read_in_all_tokens for run in runs))


def was_answered(request: Request) -> bool:
    return not request.cancelled and request.first_token_ms > 0


@dataclass
class Summary:
    """A scenario on one server, over all runs that went well."""
    scenario: str
    runs: int
    errors: list[str]  # one for each run that did not
    tokens: Tokens
    first_token_ms: list[float]
    tokens_per_second: float  # of answers, from the first text on; 0: nobody answered

    def first_token(self, share: float) -> float:
        return percentile(self.first_token_ms, share)


def good_runs(server: Server, scenario: str) -> list[ScenarioRun]:
    return [run for run in server.runs if run.scenario == scenario and not run.error]


def summarize(server: Server, scenario: str) -> Summary:
    runs = good_runs(server, scenario)
    answered = [request for run in runs for request in run.requests if was_answered(request)]
    timed = [request for request in answered if request.answer_tokens > 1 and request.answer_ms > 0]
    ms = sum(request.answer_ms for request in timed)
    tokens = sum(request.answer_tokens - 1 for request in timed)  # the time begins with the first
    return Summary(scenario, len(runs),
                   [run.error for run in server.runs if run.scenario == scenario and run.error],
                   tokens_of(runs), [request.first_token_ms for request in answered],
                   tokens * 1000 / ms if ms else 0.0)


def scenario_names(result: Result) -> list[str]:
    """In the order in which they are first met."""
    return list(dict.fromkeys(run.scenario for server in result.servers for run in server.runs))


def partner_of(run: ScenarioRun, server: Server) -> ScenarioRun | None:
    """The run of the same scenario and repetition that went well."""
    return next((other for other in good_runs(server, run.scenario)
                 if other.repetition == run.repetition), None)


def first_token_ratios(ours: Server, theirs: Server, scenario: str) -> list[float]:
    """Ours over theirs. Requests pair up by repetition and place in it."""
    ratios = []
    for run in good_runs(ours, scenario):
        partner = partner_of(run, theirs)
        for mine, other in zip(run.requests, partner.requests if partner else []):
            if was_answered(mine) and was_answered(other):
                ratios.append(mine.first_token_ms / other.first_token_ms)
    return ratios
