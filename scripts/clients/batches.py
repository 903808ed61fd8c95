"""Clients that ask for several completions at once, and clients that send schemas: their rows, and
their tables in docs/clients.md. Each has a script in batches/ or schemas/, which checks the
answers."""

import shutil
import signal
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from driver import PATH
from recorder import Recorder
from server import Server
from session import Row

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


def peer_command(root: Path) -> list:
    """llama-server, as scripts/lib/peer.sh finds it; empty where there is none."""
    prefix = root / ".deps" / "prefix" / "usr"
    for loader in prefix.glob("lib/*/ld-linux*.so.*"):
        folder = loader.parent
        if (prefix / "bin" / "llama-server").is_file():
            return [str(loader), "--library-path", f"{folder}:{folder}/llama",
                    str(prefix / "bin" / "llama-server")]
    found = shutil.which("llama-server")
    return [found] if found else []


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


@contextmanager
def peer(wanted: bool, root: Path, model: Path, log: Path):
    """The address of a llama-server on the model; empty where none is wanted or here."""
    command = peer_command(root) if wanted else []
    if not command:
        yield ""
        return
    port = free_port()
    backends = sorted(Path(command[0]).parent.glob("ggml/backends*"))
    with open(log, "wb") as out:
        process = subprocess.Popen(
            [*command, "-m", str(model), "-t", "1", "-np", "1", "-c", "4096", "--port", str(port)],
            cwd=backends[-1] if backends else None, stdin=subprocess.DEVNULL, stdout=out,
            stderr=out)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


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


def play(batch: Batch, version: str, setting, root: Path) -> Row:
    """`setting`: as for any client (session.py)."""
    row = Row(batch.name, version, setting.model_name, ways=batch.asks)
    folder = setting.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    server = Server(setting.program, ["-m", str(setting.model), "--cache-disk", "0"], None,
                    folder / "server.log", [*setting.flags, *batch.flags])
    recorder = Recorder(server.port, folder / "requests")
    try:
        with peer(batch.compares, root, setting.model, folder / "peer.log") as scores_url:
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


def as_markdown(rows: list) -> str:
    lines = ["| " + " | ".join(HEAD) + " |", "| --- | --- | --- | ---: | ---: | --- |"]
    for row in rows:
        result = "ok" if row.passed else "; ".join(row.problems)
        cells = [row.client, row.version, row.ways, str(row.requests), f"{row.prompt_tokens:,}",
                 f"not run: {row.not_run}" if row.not_run else result]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
