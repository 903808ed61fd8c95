"""All attacks, in the order in which they are played."""

from dataclasses import dataclass, replace
from typing import Callable

from abuse import connections, many, peers, pictures
from abuse.fields import all_fields
from abuse.wire import Aim, Outcome, Scale, repeat, request_bytes

WORD = "word "


@dataclass(frozen=True)
class Attack:
    group: str
    title: str
    play_own: Callable | None = None  # of an Aim and a Scale, returns the Outcome
    # Or else requests that are repeated: the name of each, and its route and body, from a Scale.
    requests: tuple = ()
    refused: bool = False  # every request of it must be, by Cairn
    picture: bool = False  # the second client sends pictures meanwhile
    reranking: bool = False  # llama-server needs another pooling for it
    ours_only: bool = False  # llama-server has no such port
    store: str = ""  # what Cairn's remote store answers

    def play(self, aim: Aim, scale: Scale) -> Outcome:
        if self.play_own is not None:
            return self.play_own(aim, scale)
        return repeat(aim, scale, [(name, request_bytes(aim, *build(scale)))
                                   for name, build in self.requests])


CONNECTIONS = "Connections"
MANY = "Very many, and very deep"
FIELDS = "A long text in every field"
PICTURES = "Pictures"
PEERS = "Hostile peers"


def _long_text(scale: Scale) -> str:
    return (WORD * (scale.text_bytes // len(WORD) + 1))[:scale.text_bytes]


def _of_route(group: str, route: str, name: str, refused: bool, build: Callable) -> Attack:
    """One request to a route. `build` makes its body from a Scale."""
    return Attack(group, f"`{route}`: {name}", refused=refused, reranking=route == "/rerank",
                  requests=((name, lambda scale: (route, build(scale))),))


def _fields(scale: Scale) -> list[Attack]:
    return [_of_route(FIELDS, field.route, field.name, field.is_refused(scale.text_bytes),
                      lambda scale, field=field: field.body(_long_text(scale)))
            for field in all_fields()]


def _merged(attacks: list) -> list[Attack]:
    """For the short form: all requests of a route that are refused are one attack. Of those that
    are not, which take long, there is one."""
    found = {}
    for attack in attacks:
        route = attack.title.split("`")[1]
        key = (attack.group, route, attack.refused)
        requests = found[key].requests if key in found else ()
        if attack.refused or not requests:
            requests += attack.requests
        found[key] = replace(attack, requests=requests,
                             title=attack.title if len(requests) == 1 else
                             f"`{route}`: {len(requests)} requests")
    return list(found.values())


def _connections() -> list[Attack]:
    return [Attack(CONNECTIONS, title, play) for title, play in [
        ("headers that come byte by byte", connections.play_slow_headers),
        ("bodies that come byte by byte", connections.play_slow_bodies),
        ("connections without a request", connections.play_silence),
        ("requests that end halfway", connections.play_half_requests),
        ("streams that are left after their first bytes", connections.play_abandoned),
        ("streams whose client is half closed", connections.play_half_open),
        ("streams that are read byte by byte", connections.play_slow_readers),
    ]]


def _many() -> list[Attack]:
    return [_of_route(MANY, route, name, name not in many.LOOSENED,
                      lambda scale, body=body, number=number: body(many.count_of(number, scale)))
            for name, number, route, body in many.MANY + many.DEEP]


def _many_of_several_requests() -> list[Attack]:
    return [
        Attack(MANY, "a picture's marker as text, very often", many.play_markers, refused=True),
        Attack(MANY, "references to an item of a stored response, 300,000",
               many.play_references(300_000), refused=True),
        Attack(MANY, "the same, 4,000 of them", many.play_references(4_000)),
        Attack(MANY, "a long chain of `previous_response_id`, and unknown ones",
               many.play_previous_ids),
    ]


def _pictures() -> list[Attack]:
    return [
        Attack(PICTURES, "broken and huge files", pictures.play_broken, refused=True),
        Attack(PICTURES, "many requests with many pictures, whose clients leave",
               pictures.play_many, picture=True),
        Attack(PICTURES, "the same, whose clients stay", pictures.play_waiting, picture=True),
    ]


def _peers(short: bool) -> list[Attack]:
    shown = ["lists in lists", "a length of 2^63", peers.HALF] if short else list(peers.REPLIES)
    events = Attack(PEERS, "frames to the ports of KV events", peers.play_frames, ours_only=True)
    return [events] + [
        Attack(PEERS, f"a remote store that answers with {name}", peers.play_prompts,
               ours_only=True, store=name) for name in shown]


def all_attacks(scale: Scale, short: bool) -> list[Attack]:
    numbers, fields = _many(), _fields(scale)
    if short:
        numbers, fields = _merged(numbers), _merged(fields)
    return [*_connections(), *numbers, *_many_of_several_requests(), *fields, *_pictures(),
            *_peers(short)]
