"""One client plays the scenario against a server of its own, and what came of it."""

import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from bench.servers import Server
from driver import Driver, Place
from pictures import PictureScenario
from recorder import Recorder
from scenario import TURNS, Scenario

SHARE_MIN = 0.95
# Tokens of a prompt behind a picture that ends its last message: the beginning of the answer. A
# picture has more.
BEHIND_PICTURE_MAX = 64
ERROR_TEXT = re.compile(r"api error|error:|\berror\b.*\b(stream|response|request|parse)|retrying|"
                        r"reconnecting|failed to|invalid (response|json)|unexpected", re.I)


@dataclass
class Row:
    client: str
    version: str
    model: str
    requests: int = 0
    prompt_tokens: int = 0
    read_tokens: int = 0
    share: float = 0  # of prompt tokens reused, the session's first long request aside
    refused: int = 0  # requests answered with an error
    resends: int = 0  # requests that came again with the same body
    problems: list = field(default_factory=list)
    not_run: str = ""  # why; empty when it ran
    ways: str = ""  # how pictures got into the conversation; empty where none did
    pictured: int = 0  # requests that had pictures
    pictures: int = 0  # different ones in them
    encoded: int = 0  # pictures that the server encoded
    steps: list = field(default_factory=list)  # a line for each request that was answered

    @property
    def passed(self) -> bool:
        return not self.not_run and not self.problems


@dataclass
class Setting:
    """What the rows of one run have in common."""

    program: Path
    model: Path
    model_name: str  # as in the table
    reasons: bool
    flags: list
    folder: Path  # for everything that is written; emptied first
    clients: Path
    pictures: bool = False  # play the scenario with pictures
    # A second model behind the same port, of which only one is loaded at a time. The client asks it
    # in the second turn.
    second: Optional[Path] = None


def cold_requests(requests: list) -> list:
    """The session's first request to each model that offers tools: all of it is new to the model.
    What comes before it, a title's request for example, counts as any other."""
    first = {}
    for r in requests:
        if r.offers_tools():
            first.setdefault(r.model, r)
    return list(first.values()) or requests[:1]


def add_figures(row: Row, requests: list):
    answered = [r for r in requests if r.answering]
    row.steps = [f"request {r.number}, {r.path}, {r.model}: {r.reused_tokens:,} of "
                 f"{r.prompt_tokens:,} tokens reused, status {r.status}" for r in answered]
    row.requests = len(answered)
    row.prompt_tokens = sum(r.prompt_tokens for r in answered)
    row.read_tokens = row.prompt_tokens - sum(r.reused_tokens for r in answered)
    if not answered:
        row.problems.append("it sent no request")
        return
    cold = cold_requests(answered)
    later = [r for r in answered if r not in cold]
    prompt = sum(r.prompt_tokens for r in later)
    row.share = sum(r.reused_tokens for r in later) / prompt if prompt else 0
    if row.share < SHARE_MIN:
        row.problems.append(f"{row.share:.1%} reused, less than {SHARE_MIN:.0%}")


def add_resends(row: Row, requests: list):
    seen = Counter(r.digest for r in requests if r.answering)
    row.resends = sum(count - 1 for count in seen.values())
    refused = [r for r in requests if r.method == "POST" and not 200 <= r.status < 300]
    row.refused = len(refused)
    if row.resends:
        row.problems.append(f"{row.resends} requests sent again")
    causes = {}
    for r in refused:
        if r.status:
            cause = f"{r.path.split('?')[0]} refused with {r.status}: {r.refusal}"
            causes.setdefault(cause, []).append(str(r.number))
    row.problems += [f"request {', '.join(numbers)}: {cause}" for cause, numbers in causes.items()]
    row.problems += [f"request {r.number}: {r.problem}" for r in requests if r.problem]


def add_pictures(row: Row, requests: list, encoded: int):
    """Each picture must be encoded once, and prefilled by the session's first request that has it
    alone. A request for a title is a prompt of its own."""
    pictured = [r for r in requests if r.answering and r.status == 200 and r.pictures]
    first = {}
    for r in (r for r in pictured if r.offers_tools()):
        again = [first[p].number for p in r.pictures
                 if p in first and r.reused_tokens + BEHIND_PICTURE_MAX < first[p].prompt_tokens]
        if again:
            row.problems.append(f"request {r.number}: prefilled the picture of request "
                                f"{min(again)} again")
        for picture in r.pictures:
            first.setdefault(picture, r)
    row.pictured, row.encoded = len(pictured), encoded
    row.pictures = len({picture for r in pictured for picture in r.pictures})
    if not row.pictures:
        row.problems.append("it sent no picture")
    if encoded != row.pictures:
        row.problems.append(f"{encoded} pictures encoded, {row.pictures} sent")


def check_turn(row: Row, scenario: Scenario, turn: int, code: int, output: str, requests: list,
               earlier: list):
    said = f"turn {turn}: "
    if code != 0:
        row.problems.append(said + f"exit code {code}")
    if scenario.answers[turn - 1] not in output:
        row.problems.append(said + "the answer was not shown")
    found = ERROR_TEXT.search(output)
    if found:
        line = output[output.rfind("\n", 0, found.start()) + 1:].split("\n")[0]
        row.problems.append(said + "it says: " + line[:120])
    row.problems += [said + lacking for lacking in scenario.missing(turn, earlier, requests)]


def end_left_behind(home: Path):
    """Ends what the client left running (Cline a hub, for example): it still has this home."""
    mark = f"HOME={home}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGTERM)
        except OSError:
            continue


def scenario_of(driver: Driver, setting: Setting) -> Scenario:
    if setting.pictures:
        return PictureScenario(setting.folder / "work", reasons=False, driver=driver)
    return Scenario(setting.folder / "work", setting.reasons)


def model_flags(setting: Setting, place: Place) -> list:
    """With two models, a swap must bring the conversation back from the disk."""
    if setting.second is None:
        return ["-m", str(setting.model), "--cache-disk", "0"]
    models = setting.folder / "models"
    models.mkdir()
    (models / f"{place.model}.gguf").symlink_to(setting.model)
    (models / f"{place.second_model}.gguf").symlink_to(setting.second)
    return ["--models-dir", str(models), "--models-max", "1",
            "--cache-dir", str(setting.folder / "cache")]


def play(driver: Driver, version: str, setting: Setting) -> Row:
    row = Row(driver.name, version, setting.model_name)
    folder = setting.folder
    shutil.rmtree(folder, ignore_errors=True)
    scenario = scenario_of(driver, setting)
    (folder / "home").mkdir()
    script = folder / "script.json"
    scenario.write_script(script, driver)
    place = Place(folder / "home", folder / "work", "", setting.clients,
                  pictures=setting.pictures)
    server = Server([setting.program, "serve", *model_flags(setting, place), "--script", script,
                     *setting.flags], Path.cwd(), folder / "server.log")
    recorder = Recorder(server.port, folder / "requests")
    place.url = recorder.url
    encoded = 0
    try:
        driver.prepare(place)
        for turn in range(1, TURNS + 1):
            before = len(recorder.requests)
            ran = driver.run(place, turn, scenario.question(turn), scenario.attached(turn))
            (folder / f"turn-{turn}.txt").write_text(ran.stdout)
            check_turn(row, scenario, turn, ran.returncode, ran.stdout,
                       recorder.requests[before:], recorder.requests[:before])
        if setting.pictures:
            encoded = int(server.metric("cairn_media_encoded_total"))
    except subprocess.TimeoutExpired:
        row.problems.append(f"no end after {driver.seconds_max} seconds")
    except OSError as error:
        row.problems.append(f"it could not be started: {error}")
    finally:
        end_left_behind(place.home)
        recorder.close()
        if server.stop() != 0:
            row.problems.append("the server did not end well")
    add_figures(row, recorder.requests)
    add_resends(row, recorder.requests)
    if setting.second and len({r.model for r in recorder.requests if r.answering}) < 2:
        row.problems.append("it asked one model only")
    if setting.pictures:
        row.ways = ", ".join(filter(None, [driver.attach, driver.picture_tool and
                                           f"`{driver.picture_tool}`"]))
        add_pictures(row, recorder.requests, encoded)
    return row
