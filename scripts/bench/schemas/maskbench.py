"""Measures how the translator of JSON schemas does on MaskBench: make schema-bench.

FOLDER is maskbench/data of guidance-ai/jsonschemabench: a file a schema, with `schema` and `tests`,
each of which has `data` and `valid`. Python's jsonschema judges those anew whose verdict differs,
because formats are no part of validity; where it agrees with the grammar, the instance is left out
and counted. It needs Python's rfc3339-validator beside it.

Prints the share of schemas that are accepted and the share that is exact, what is loosened, the
valid instances that are refused, the invalid ones that are allowed although the schema is exact,
and the time of translating. The exit status is 1 if there is one of the last two."""

import collections
import json
from pathlib import Path

import jsonschema

from bench.pages import percentile
from bench.schemas.checker import Checker, keyword_of, percent, schema_settings

# Formats that the translator enforces. An instance that breaks one is not counted as refused.
FORMATS = jsonschema.FormatChecker(["date", "time", "date-time", "uuid"])


class Bench:
    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.schemas = self.accepted = self.exact = self.valid = self.invalid = 0
        self.unclear = self.untried = 0
        self.errors: collections.Counter = collections.Counter()
        self.loosened: collections.Counter = collections.Counter()
        self.refused: list[str] = []
        self.allowed: list[str] = []
        self.loose_allowed = 0
        self.times_us: list[int] = []
        self.bytes: list[int] = []
        self.refusals: list[str] = []

    def play(self, path: Path) -> None:
        read = json.loads(path.read_text(encoding="utf-8"))
        schema = read["schema"]
        tests = read.get("tests") or []
        self.schemas += 1
        answer = self.checker.check(schema, [test["data"] for test in tests])
        if "error" in answer:
            self.errors[answer["error"][:80]] += 1
            self.refusals.append(f"{path.name}: {answer['error'][:150]}")
            return
        self.accepted += 1
        self.times_us.append(answer["compile_us"])
        self.bytes.append(answer["bytes"])
        exact = not answer["loosened"]
        self.exact += exact
        self.loosened.update({keyword_of(place) for place in answer["loosened"]})
        for i, (test, allowed) in enumerate(zip(tests, answer["results"], strict=True)):
            verdict = test["valid"]
            if allowed is None:
                self.untried += 1
                continue
            # The judge is slow, and needed only where something looks wrong.
            if allowed != verdict and judge(schema, test["data"]) != verdict:
                self.unclear += 1
                continue
            self.valid += verdict
            self.invalid += not verdict
            if verdict and not allowed:
                self.refused.append(f"{path.name} [{i}]")
            if not verdict and allowed:
                self.loose_allowed += not exact
                if exact:
                    self.allowed.append(f"{path.name} [{i}]")

    def told(self) -> str:
        lines = [
            f"schemas                    {self.schemas}",
            f"accepted                   {self.accepted} ({percent(self.accepted, self.schemas)})",
            f"exact                      {self.exact} ({percent(self.exact, self.schemas)})",
            f"valid instances            {self.valid}, refused {len(self.refused)}",
            f"invalid instances          {self.invalid}, allowed {len(self.allowed)} where exact, "
            f"{self.loose_allowed} where loosened",
            f"instances judged otherwise {self.unclear}",
            f"with too many orders       {self.untried}",
            f"translated in              p50 {percentile(self.times_us, 0.5)} us, "
            f"p99 {percentile(self.times_us, 0.99)} us, most {max(self.times_us, default=0)} us",
            f"bytes of grammar           p50 {percentile(self.bytes, 0.5)}, "
            f"p99 {percentile(self.bytes, 0.99)}, most {max(self.bytes, default=0)}",
            "loosened, schemas by keyword:",
        ]
        lines += [f"  {count:6} {keyword}" for keyword, count in self.loosened.most_common(40)]
        lines += ["refused schemas by error:"]
        lines += [f"  {count:6} {error}" for error, count in self.errors.most_common(30)]
        return "\n".join(lines)


def judge(schema: object, instance: object) -> bool | None:
    """Whether the instance fits; None where the judge cannot tell."""
    try:
        kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        # 1.0 is a whole number to all drafts but the fourth, and to the translator.
        whole = jsonschema.validators.extend(
            kind, type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER)
        return whole(schema, format_checker=FORMATS).is_valid(instance)
    except Exception:  # noqa: BLE001: a reference that leads elsewhere, a pattern it cannot read
        return None


def main(argv: list[str]) -> int:
    settings = schema_settings("schema-bench", __doc__, argv)
    settings.add("every", int, 1, "only each N-th schema")
    settings.add("first", int, 0, "begin at this one of them")
    asked = settings.parsed()
    bench = Bench(Checker(asked.checker))
    for path in sorted(asked.folder[0].glob("*.json"))[asked.first :: asked.every]:
        bench.play(path)
    print(bench.told())
    if asked.json:
        kept = {name: value for name, value in vars(bench).items() if name != "checker"}
        asked.json.write_text(json.dumps(kept, indent=1))
    for name, found in (("refused though valid", bench.refused), ("allowed", bench.allowed)):
        for one in found[:20]:
            print(f"{name}: {one}")
    return 1 if bench.refused or bench.allowed else 0
