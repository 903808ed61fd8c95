"""The settings of a benchmark. Each is a flag, and a variable of the environment as make passes it
on: SCALE=0.5 is --scale 0.5. An empty variable is none."""

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]


def fail(what: str) -> NoReturn:
    sys.exit(f"bench: {what}")


def words(text: str) -> list[str]:
    """Splits a list with commas."""
    return [word for word in text.split(",") if word]


def path(text: str) -> Path:
    """An absolute one. A link stays one: its name is the one that people know."""
    return Path(os.path.abspath(text))


def given(name: str, argv: list[str]) -> bool:
    """Whether a setting is asked for."""
    return bool(os.environ.get(_variable(name))) or any(
        each.split("=")[0] == f"--{name}" for each in argv)


def chosen(names: list[str], known, what: str) -> list[str]:
    """The names, if all of them are known."""
    if unknown := [name for name in names if name not in known]:
        fail(f"{what}={','.join(unknown)}: there are {', '.join(known)}.")
    return names


class Settings:
    """Collects the settings; `parsed` returns them as attributes. All benchmarks have those that
    the constructor adds. `quick`: whether the short form is asked for. `folder`: of build/."""

    def __init__(self, name: str, text: str, argv: list[str], folder: str = ""):
        self._argv, self._page = argv, ""
        self._parser = argparse.ArgumentParser(prog=f"bench {name}", allow_abbrev=False,
                                               description=text.split("\n\n", maxsplit=1)[0])
        self.quick = self.flag("quick", "the shortest form, into the folder --work: does it work?")
        self.add("cairn", path, ROOT / "build" / "cairn", "the program")
        self.add("lab", path, ROOT / "build" / "cairn-lab", "the program of the lab", "CAIRN_LAB")
        self.add("work", path, ROOT / "build" / (folder or f"bench-{name}"),
                 "a folder for what is seen")

    def flag(self, name: str, text: str) -> bool:
        default = given(name, self._argv)
        self._parser.add_argument(f"--{name}", action="store_true", default=default, help=text)
        return default

    def add(self, name: str, kind, default, text: str = "", variable: str = "", quick=None):
        """`quick`: the default of the short form, if it is another one."""
        if self.quick and quick is not None:
            default = quick
        self._parser.add_argument(f"--{name}", type=kind, help=text,
                                  default=os.environ.get(variable or _variable(name)) or default)

    def files(self, name: str, text: str, count: str = "*"):
        """Arguments without a flag; the variable has them with blanks between."""
        default = [path(each) for each in os.environ.get(_variable(name), "").split()]
        self._parser.add_argument(name, nargs="*" if default else count, type=path, help=text,
                                  default=default)

    def page(self, name: str, whole: bool = True):
        """OUT: docs/NAME; that of a run that is not whole stays in its folder."""
        self.add("out", path, None if self.quick or not whole else ROOT / "docs" / name,
                 "the page")
        self._page = name

    def parsed(self) -> argparse.Namespace:
        args = self._parser.parse_args(self._argv)
        if self._page:
            args.out = args.out or args.work / self._page
        return args


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")


def prepared(args):
    """The arguments, once the program and the folder are there."""
    if not args.cairn.is_file():
        fail(f"there is no program {args.cairn}; `make build` makes it")
    args.work.mkdir(parents=True, exist_ok=True)
    return args
