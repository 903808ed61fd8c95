"""A benchmark's result: read from JSON, checked, and merged with others. docs/scenarios.md
describes the format."""

import json
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

FORMAT, VERSION = "cairn-bench", 3


class ResultError(Exception):
    """A file cannot be used; the text says why."""


@dataclass
class Request:
    what: str
    prompt_tokens: int
    answer_tokens: int
    read_tokens: int
    lower_bound_tokens: int  # 0: not known
    first_token_ms: float
    total_ms: float
    answer_ms: float
    cancelled: bool
    answer: str  # after its reasoning


@dataclass
class ScenarioRun:
    scenario: str
    repetition: int
    error: str  # empty, or why the run ended early: then its figures count for nothing
    total_ms: float
    read_in_all_tokens: int
    requests: list[Request]


@dataclass
class Turn:
    message_tokens: int
    prompt_tokens: int
    read_tokens: int
    first_token_ms: float


@dataclass
class LoadRun:
    workload: str
    repetition: int
    error: str  # as of ScenarioRun
    figures: dict[str, float]
    samples: dict[str, list[float]]
    turns: list[Turn]
    faults: dict[str, int]
    fault_details: dict[str, str]


@dataclass
class Server:
    name: str
    url: str
    program: str
    model: str
    architecture: str  # empty: not known
    memory: str
    command_line: str
    grid_tokens: int
    runs: list[ScenarioRun]
    load_runs: list[LoadRun]


@dataclass
class Result:
    scale: float
    seed: int
    servers: list[Server]  # the first is ours; ratios are ours over each other

    @property
    def title(self) -> str:
        """The memory class and the model: "hybrid: qwen35"."""
        if not self.servers:
            return "nothing"
        model = model_file(self.servers[0]).removesuffix(".gguf")
        memory = self.servers[0].memory
        return f"{memory}: {model}" if memory else model


def model_file(server: Server) -> str:
    """"models/a.gguf" and "a.gguf" are one model."""
    return server.model.rsplit("/", 1)[-1]


PLAIN = {str: "a text", bool: "true or false", int: "a whole number from 0 on", float: "a number"}


def _plain(kind: type, value: Any, where: str) -> Any:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = {str: isinstance(value, str), bool: isinstance(value, bool), float: number,
            int: number and isinstance(value, int) and value >= 0}[kind]
    if not fits:
        raise ResultError(f"{where} must be {PLAIN[kind]}")
    return kind(value)


def _build_object(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ResultError(f"{where} must be an object")
    hints = get_type_hints(kind)
    for name in hints:
        if name not in value:
            raise ResultError(f"{where} has no {name}")
    return kind(**{name: _build(hint, value[name], name) for name, hint in hints.items()})


def _build(kind: Any, value: Any, where: str) -> Any:
    """`value`, as JSON has it, as `kind`: a dataclass, a list, a dict of texts, or a plain type."""
    if is_dataclass(kind):
        return _build_object(cast(type, kind), value, where)
    if get_origin(kind) is list:
        if not isinstance(value, list):
            raise ResultError(f"{where} must be a list")
        return [_build(get_args(kind)[0], item, where) for item in value]
    if get_origin(kind) is dict:
        if not isinstance(value, dict):
            raise ResultError(f"{where} must be an object")
        return {key: _build(get_args(kind)[1], item, key) for key, item in value.items()}
    return _plain(kind, value, where)


def parse(text: str) -> Result:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ResultError("it is no JSON") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ResultError("it is no result of cairn-lab bench")
    if data.get("version") != VERSION:
        raise ResultError("it is in another version's format; run the benchmark again")
    return _build(Result, data, "the result")


def read(path: Path) -> Result:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultError(f"'{path}' cannot be read: {error.strerror}") from error
    except (ResultError, UnicodeDecodeError) as error:
        raise ResultError(f"'{path}' cannot be used: {error}") from error


Item = TypeVar("Item")


def _find_or_add(items: list[Item], fresh: Item, key: Any) -> Item:
    for item in items:
        if key(item) == key(fresh):
            return item
    items.append(fresh)
    return fresh


def _add_runs(more: Server, server: Server) -> None:
    """Repetitions of `more` count on after those that `server` has."""
    first = max((run.repetition + 1 for run in server.runs), default=0)
    for run in more.runs:
        server.runs.append(replace(run, repetition=run.repetition + first))
    for load_run in more.load_runs:
        known = sum(other.workload == load_run.workload for other in server.load_runs)
        server.load_runs.append(replace(load_run, repetition=known))


def merge(results: list[Result]) -> list[Result]:
    """One result for each model, with the runs of a server, found by its name, one after another.
    Models and servers keep the order in which they are first met."""
    merged: list[Result] = []
    for result in results:
        for server in result.servers:
            empty = replace(server, runs=[], load_runs=[])
            fresh = Result(result.scale, result.seed, [empty])
            known = _find_or_add(merged, fresh, lambda one: model_file(one.servers[0]))
            _add_runs(server, _find_or_add(known.servers, empty, lambda one: one.name))
    for result in merged:
        # Not every server tells the memory class of the model that all of them have.
        memory = next((server.memory for server in result.servers if server.memory), "")
        result.servers = [replace(server, memory=memory) for server in result.servers]
    return merged
