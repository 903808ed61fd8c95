"""Talks to build/bench/schema_check, which translates schemas and tries instances."""

import json
import subprocess
from pathlib import Path

from bench.settings import ROOT, Settings, path


def schema_settings(name: str, text: str, argv: list[str]) -> Settings:
    settings = Settings(name, text, argv)
    settings.files("folder", "of the schemas", 1)
    settings.add("checker", path, ROOT / "build" / "bench" / "schema_check", "its program")
    settings.add("json", path, None, "a file for the figures")
    return settings


class Checker:
    """One process; a line each way for a schema."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def check(self, schema: object, instances: list) -> dict:
        """`results` of the answer says which instances the grammar allows, in order."""
        return self._ask("schema", schema, instances)

    def check_grammar(self, grammar: str, instances: list) -> dict:
        """The same for a grammar in GBNF."""
        return self._ask("grammar", grammar, instances)

    def _ask(self, kind: str, held: object, instances: list) -> dict:
        texts = [json.dumps(instance, ensure_ascii=False) for instance in instances]
        line = json.dumps({kind: held, "instances": texts}, ensure_ascii=False)
        self._process.stdin.write(line.replace("\ud800", "\ufffd") + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the checker ended at {line[:200]}")
        return json.loads(answer)


def keyword_of(place: str) -> str:
    """The keyword at the end of a place such as "schema.properties.a.uniqueItems"."""
    return place.rsplit(".", 1)[-1].split("[")[0]


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"

