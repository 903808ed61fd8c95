"""Settings of clients as docs/set_up_clients.md gives them to people."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "set_up_clients.md"
URL = "http://127.0.0.1:8080"
MODEL = "local-model"


def block(client: str, language: str) -> str:
    """The block of that language below the client's heading."""
    part = re.split(r"^## ", PAGE.read_text(), flags=re.M)
    own = [text for text in part if text.startswith(client + "\n")]
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", own[0] if own else "", re.M | re.S)
    if len(blocks) != 1:
        raise RuntimeError(f"{PAGE.name} has {len(blocks)} blocks of {language} for {client}")
    return blocks[0]


def filled(text: str, place) -> str:
    """For the server and the model of this run."""
    text = text.replace(URL, place.url).replace(MODEL, place.model)
    return text.replace(URL.removeprefix("http://"), place.url.removeprefix("http://"))


def exported(client: str, place) -> dict:
    """What the client's shell commands put into the environment."""
    lines = filled(block(client, "sh"), place).splitlines()
    return dict(line.removeprefix("export ").split("=", 1) for line in lines
                if line.startswith("export "))
