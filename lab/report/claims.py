"""What Cairn says of itself beside other servers, held against a benchmark. "Ours" is the first
server of each result, the others are peers."""

from dataclasses import dataclass, field

from report.result import Result, ScenarioRun, Server
from report.summary import (ALLOWED_TOKENS, allowed_tokens, first_token_ratios,
                            geometric_mean, good_runs, partner_of, scenario_names, summarize, tokens_of)
from report.text import count_text


@dataclass
class Case:
    """A scenario in which a claim does not hold, or cannot be checked."""
    title: str  # of the result
    scenario: str
    why: str  # with the figures


@dataclass
class Check:
    held: int = 0  # scenarios of all results (and, of peers, each peer's)
    broken: list[Case] = field(default_factory=list)
    unchecked: list[Case] = field(default_factory=list)

    @property
    def checked(self) -> int:
        return self.held + len(self.broken)


@dataclass
class Limit:
    """How many tokens a run may prefill, and the sum that this is."""
    run: ScenarioRun
    tokens: float
    terms: str


def _for_each(requests: int) -> str:
    return f" + {ALLOWED_TOKENS} for each of {requests}"


def _broken(limits: list[Limit]) -> str:
    """The first run that prefilled more than its limit, in words; empty: none did."""
    for limit in limits:
        read = tokens_of([limit.run]).read
        if read > limit.tokens:
            return (f"run {limit.run.repetition + 1} prefilled {count_text(read)}, allowed are "
                    f"{int(limit.tokens):,} ({limit.terms})")
    return ""


def _error(server: Server, scenario: str) -> str:
    summary = summarize(server, scenario)
    if summary.errors:
        return f"{server.name} failed: {summary.errors[0]}"
    return "" if summary.runs else f"{server.name} did not play it"


def _judge(check: Check, case: Case, limits: list[Limit], error: str, unknown: str) -> None:
    """`error`: what went wrong in a run. `unknown`: why there is no limit when nothing did."""
    broken = _broken(limits)
    if broken:
        check.broken.append(Case(case.title, case.scenario, case.why + broken))
    elif error or not limits:
        check.unchecked.append(Case(case.title, case.scenario, case.why + (error or unknown)))
    else:
        check.held += 1


def check_allowed(results: list[Result]) -> Check:
    """In each run, ours prefills on the requests' own time at most allowed_tokens()."""
    check = Check()
    for result in results:
        for scenario in scenario_names(result):
            ours, limits = result.servers[0], []
            for run in good_runs(ours, scenario):
                tokens = tokens_of([run])
                if tokens.lower_bound:
                    limits.append(Limit(
                        run, allowed_tokens(tokens.lower_bound, tokens.requests),
                        f"1.02 times {count_text(tokens.lower_bound)}"
                        + _for_each(tokens.requests)))
            _judge(check, Case(result.title, scenario, ""), limits, _error(ours, scenario),
                   "the lower bound is not known")
    return check


def _check_peer(result: Result, peer: Server, scenario: str, check: Check) -> None:
    ours, limits = result.servers[0], []
    for run in good_runs(ours, scenario):
        partner = partner_of(run, peer)
        if partner:
            theirs, requests = tokens_of([partner]).read, len(run.requests)
            limits.append(Limit(run, theirs + requests * ALLOWED_TOKENS,
                                count_text(theirs) + _for_each(requests)))
    _judge(check, Case(result.title, scenario, f"beside {peer.name}: "), limits,
           _error(ours, scenario) or _error(peer, scenario), "no run has a partner")


def check_peers(results: list[Result]) -> Check:
    """In no run does ours prefill more than the peer did, and 8 tokens a request."""
    check = Check()
    for result in results:
        for scenario in scenario_names(result):
            for peer in result.servers[1:]:
                _check_peer(result, peer, scenario, check)
    return check


@dataclass
class PeerRatio:
    """The time to the first token beside one peer, over all scenarios of all results."""
    peer: str
    values: list[float]  # of each scenario its geometric mean, so that each weighs the same

    @property
    def mean(self) -> float:
        return geometric_mean(self.values)


def peer_ratios(results: list[Result]) -> list[PeerRatio]:
    """For each peer by its name, over those results that have it."""
    values: dict[str, list[float]] = {}
    for result in results:
        for peer in result.servers[1:]:
            known = values.setdefault(peer.name, [])
            for scenario in scenario_names(result):
                ratios = first_token_ratios(result.servers[0], peer, scenario)
                if ratios:
                    known.append(geometric_mean(ratios))
    return [PeerRatio(peer, known) for peer, known in values.items()]
