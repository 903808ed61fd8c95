"""Compares the translator of JSON schemas with the official test suite: make schema-suite.

FOLDER is a copy of json-schema-org/JSON-Schema-Test-Suite. The required tests of each draft are
played: a test agrees if the grammar allows its instance exactly if it is valid. Where the schema is
loosened, an invalid instance may be allowed too; that is counted apart. Schemas that lead to other
documents are loosened, so these are not served.

Prints the agreement by keyword. The exit status is 1 if a valid instance is refused, or an invalid
one allowed although nothing is loosened."""

import collections
import json
from pathlib import Path

from bench.schemas.checker import Checker, percent, schema_settings
from bench.settings import words

DRAFTS = ("draft4", "draft6", "draft7", "draft2019-09", "draft2020-12")
DIALECTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
# Files whose point is not a grammar's: formats are enforced here although a validator may not.
LEFT_OUT = {"format.json", "vocabulary.json"}


class Suite:
    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.counts: collections.defaultdict = collections.defaultdict(collections.Counter)
        self.faults: list[str] = []

    def play(self, draft: str, path: Path) -> None:
        for group in json.loads(path.read_text(encoding="utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema:
                schema = {"$schema": DIALECTS[draft], **schema}
            tests = group["tests"]
            answer = self.checker.check(schema, [test["data"] for test in tests])
            count = self.counts[path.stem]
            for i, test in enumerate(tests):
                place = f"{draft} {path.stem}: {group['description']}: {test['description']}"
                count["all"] += 1
                if "error" in answer:
                    # A schema that nothing fits is refused.
                    agrees = not test["valid"]
                    count["agree" if agrees else "refused schema"] += 1
                    if not agrees:
                        self.faults.append(f"{place}: {answer['error'][:100]}")
                    continue
                allowed = answer["results"][i]
                if allowed == test["valid"]:
                    count["agree"] += 1
                elif test["valid"]:
                    count["refused"] += 1
                    self.faults.append(f"{place}: refused")
                elif answer["loosened"]:
                    count["loosened"] += 1
                else:
                    count["allowed"] += 1
                    self.faults.append(f"{place}: allowed")

    def told(self) -> str:
        names = ("all", "agree", "loosened", "refused schema", "refused", "allowed")
        lines = [f"{'keyword':24}" + "".join(f"{name:>16}" for name in names)]
        total: collections.Counter = collections.Counter()
        for keyword, count in sorted(self.counts.items()):
            total.update(count)
            lines.append(f"{keyword:24}" + "".join(f"{count[name]:16}" for name in names))
        lines.append(f"{'total':24}" + "".join(f"{total[name]:16}" for name in names))
        lines.append(f"agreement {percent(total['agree'], total['all'])}")
        return "\n".join(lines)


def main(argv: list[str]) -> int:
    settings = schema_settings("schema-suite", __doc__, argv)
    settings.add("draft", words, list(DRAFTS), "some of them")
    asked = settings.parsed()
    suite = Suite(Checker(asked.checker))
    for draft in asked.draft:
        for path in sorted((asked.folder[0] / "tests" / draft).glob("*.json")):
            if path.name not in LEFT_OUT:
                suite.play(draft, path)
    print(suite.told())
    for fault in suite.faults[:200]:
        print(fault)
    return 1 if suite.faults else 0
