"""Do two servers give the same greedy answers to the same requests?"""

from dataclasses import dataclass, field

from report.result import Request, Server
from report.summary import good_runs, partner_of, was_answered


@dataclass
class Pair:
    """One request, as two servers answered it."""
    scenario: str
    ours: Request
    theirs: Request

    @property
    def agrees(self) -> bool:
        return self.ours.answer == self.theirs.answer

    @property
    def same_prompt(self) -> bool:
        """By its length: prompts of other tokens hardly ever have as many."""
        return self.ours.prompt_tokens == self.theirs.prompt_tokens


@dataclass
class Agreement:
    pairs: list[Pair] = field(default_factory=list)

    @property
    def alike(self) -> int:
        return sum(pair.agrees for pair in self.pairs)

    @property
    def different(self) -> list[Pair]:
        return [pair for pair in self.pairs if not pair.agrees]

    @property
    def other_prompts(self) -> int:
        return sum(not pair.same_prompt for pair in self.pairs)

    def of_same_prompts(self) -> "Agreement":
        return Agreement([pair for pair in self.pairs if pair.same_prompt])


def agreement(ours: Server, theirs: Server, scenarios: list[str]) -> Agreement:
    """Requests pair up by repetition and place in it; cancelled ones have no whole answer."""
    pairs = []
    for scenario in scenarios:
        for run in good_runs(ours, scenario):
            partner = partner_of(run, theirs)
            for mine, other in zip(run.requests, partner.requests if partner else []):
                if was_answered(mine) and was_answered(other):
                    pairs.append(Pair(scenario, mine, other))
    return Agreement(pairs)
