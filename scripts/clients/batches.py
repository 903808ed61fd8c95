"""Clients that ask for several completions at once, and clients that send schemas: their rows, and
their tables in docs/clients.md. Each has a script in batches/ or schemas/, which checks the
answers."""

import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.servers import Server, installed_peer
from driver import PATH
from recorder import Recorder
from session import Row
from table import table_of

SCRIPTS = Path(__file__).resolve().parent
SECONDS_MAX = 600
HEAD = ("Client", "Version", "What it asks for", "Requests", "Prompt tokens", "Result")


@dataclass
class Batch:
    name: str
    package: str
    script: str
    asks: str
    compares: bool = False  # with llama-server, where it is here
    folder: str = "batches"  # of the script
    flags: tuple = ()


CLIENTS = [
    Batch("lm-evaluation-harness", "lm-eval", "lm_eval_tasks.py",
          "a generative task and one of several choices, `--batch_size 3`", compares=True),
    Batch("LangChain", "langchain", "langchain_generate.py", "`OpenAI.generate`, three prompts"),
    Batch("LiteLLM", "litellm", "litellm_completions.py", "`text_completion`, three prompts"),
]
# The made model's reasoning would not end.
ANSWERS_AT_ONCE = ("--reasoning-budget", "0")
WITH_SCHEMAS = [
    Batch("instructor", "instructor", "instructor_modes.py",
          "a model with bounded numbers, a pattern and optional enums, in each mode",
          folder="schemas", flags=ANSWERS_AT_ONCE),
    Batch("smolagents", "smolagents-mcp", "smolagents_mcp.py",
          "calls of an MCP tool with bounded numbers", folder="schemas", flags=ANSWERS_AT_ONCE),
    Batch("browser-use", "browser-use", "browser_use_steps.py",
          "steps of its agent in a browser", folder="schemas", flags=ANSWERS_AT_ONCE),
]


@contextmanager
def peer(wanted: bool, model: Path, log: Path):
    """The address of a llama-server on the model; empty where none is wanted or here."""
    found = installed_peer() if wanted else None
    if found is None:
        yield ""
        return
    with Server([*found.command, "-m", model, "-t", "1", "-np", "1", "-c", "4096"], found.folder,
                log) as server:
        yield server.url


def ask(batch: Batch, url: str, scores_url: str, folder: Path, clients: Path) -> str:
    """Runs the script. Empty if it found everything as it should be, else what it said."""
    environment = {"HOME": str(folder), "PATH": PATH, "LANG": "C.UTF-8", "TMPDIR": str(folder),
                   "NO_PROXY": "127.0.0.1,localhost", "PYTHONDONTWRITEBYTECODE": "1",
                   "HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    if scores_url:
        environment["SCORES_URL"] = scores_url
    with open(folder / "output.txt", "w+", encoding="utf-8") as out:
        script = SCRIPTS / batch.folder / batch.script
        ran = subprocess.run([clients / batch.package / "venv/bin/python", script, url,
                              "local-model", folder], env=environment, cwd=folder,
                             stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                             timeout=SECONDS_MAX, check=False)
        out.seek(0)
        said = out.read().strip().splitlines()
    return "" if ran.returncode == 0 else (said or ["it said nothing"])[-1][:300]


def play(batch: Batch, version: str, setting) -> Row:
    """`setting`: as for any client (session.py)."""
    row = Row(batch.name, version, setting.model_name, ways=batch.asks)
    folder = setting.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    server = Server([setting.program, "serve", "-m", setting.model, "--cache-disk", "0",
                     *setting.flags, *batch.flags], Path.cwd(), folder / "server.log")
    recorder = Recorder(server.port, folder / "requests")
    try:
        with peer(batch.compares, setting.model, folder / "peer.log") as scores_url:
            said = ask(batch, recorder.url, scores_url, folder, setting.clients)
        if said:
            row.problems.append(said)
    except subprocess.TimeoutExpired:
        row.problems.append(f"no end after {SECONDS_MAX} seconds")
    finally:
        recorder.close()
        if server.stop() != 0:
            row.problems.append("the server did not end well")
    answered = [r for r in recorder.requests if r.answering]
    row.requests = len(answered)
    row.prompt_tokens = sum(r.prompt_tokens for r in answered)
    row.problems += [f"request {r.number} refused with {r.status}: {r.refusal}" for r in answered
                     if r.status != 200]
    return row


def cells(row: Row) -> list:
    result = "ok" if row.passed else "; ".join(row.problems)
    return [row.client, row.version, row.ways, str(row.requests), f"{row.prompt_tokens:,}",
            f"not run: {row.not_run}" if row.not_run else result]


def as_markdown(rows: list) -> str:
    return table_of(HEAD, "lllrrl", map(cells, rows))
