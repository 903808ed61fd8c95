"""Plays reported requests on a server and lists which of them are answered as they should be.

FOLDER holds a file for each report. A .json file has `route`, `body` (an object, or a text that is
sent as it is), `template` (a path in this repository), `expected` (what is right, in words), and
`status` and `answer`, what a server said when the report was written. A .jinja file is a chat
template that a server must survive.

Without --url a server on a small made model is started for each template, one at a time. A line is
`passed`, or `open` with the reason. What `expected` says is checked where its words are known
(expectation); otherwise a line is open, and says whether the answer is still the recorded one. The
exit status is 0 if all passed, 1 if some are open."""

import http.client
import json
import re
import signal
import subprocess
import tempfile
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path

from bench.servers import Server, make_model
from bench.settings import ROOT, Settings, path, words

REQUEST_S = 120
MARKUP = re.compile(r"<\||<tool|</|\[TOOL_CALLS\]")


@dataclass
class Answer:
    """What a server said to one request."""

    status: int
    text: str = ""
    content: str = ""
    reasoning: str = ""
    calls: list = field(default_factory=list)  # [name, arguments as a text]
    body: object = None

    def told(self) -> str:
        if self.status != 200:
            return f"{self.status}: {message_of(self.text)}"
        calls = "".join(f" {name} {arguments}" for name, arguments in self.calls)
        return shortened(f"{self.content!r}{calls}" if calls or self.content else self.text)


@dataclass
class Input:
    """One file of the folder."""

    path: Path
    template: Path
    route: str = ""
    body: object = None
    expected: str = ""
    status: int = 0
    answer: object = None

    def is_template(self) -> bool:
        return self.path.suffix == ".jinja"


def shortened(text: str, most: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most] + "…"


def message_of(text: str) -> str:
    try:
        error = json.loads(text)["error"]
        return shortened(error["message"] if isinstance(error, dict) else str(error))
    except (ValueError, KeyError, TypeError):
        return shortened(text)


def read_inputs(folder: Path) -> list:
    inputs = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".jinja":
            inputs.append(Input(path, path))
        elif path.suffix == ".json":
            file = json.loads(path.read_text())
            inputs.append(Input(path, ROOT / file["template"], file["route"], file.get("body"),
                                file.get("expected", ""), file.get("status", 0),
                                file.get("answer")))
    return inputs


# --- Requests
# ------------------------------------------------------------------------------------------


def add_chunk(event: dict, answer: Answer) -> None:
    for choice in event.get("choices", []):
        delta = choice.get("delta", {})
        answer.content += delta.get("content") or ""
        answer.reasoning += delta.get("reasoning_content") or ""
        for call in delta.get("tool_calls") or []:
            function = call.get("function", {})
            if function.get("name"):
                answer.calls.append([function["name"], ""])
            answer.calls[-1][1] += function.get("arguments") or ""


def parsed(status: int, text: str) -> Answer:
    """Reads a chat's answer, streamed or not. Other answers have only a body."""
    answer = Answer(status, text)
    if text.startswith("data:") or "\ndata: " in text:
        for line in text.splitlines():
            if line.startswith("data: ") and line != "data: [DONE]":
                event = json.loads(line[6:])
                if "error" in event:
                    answer.status = 500
                add_chunk(event, answer)
        return answer
    try:
        answer.body = json.loads(text)
    except ValueError:
        return answer
    if not isinstance(answer.body, dict):
        return answer
    for choice in answer.body.get("choices") or []:
        message = choice.get("message") or {}
        answer.content += message.get("content") or ""
        answer.reasoning += message.get("reasoning_content") or ""
        for call in message.get("tool_calls") or []:
            answer.calls.append([call["function"]["name"], call["function"]["arguments"]])
    return answer


def ask(url: str, route: str, body: object) -> Answer:
    """Sends one request. Raises OSError where the server is gone."""
    method, _, path = route.rpartition(" ")
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=REQUEST_S)
    try:
        data = body if isinstance(body, str) or body is None else json.dumps(body)
        connection.request(method or "POST", path, data and data.encode(),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        return parsed(response.status, response.read().decode(errors="replace"))
    except http.client.HTTPException as error:
        raise OSError(str(error) or type(error).__name__) from error
    finally:
        connection.close()


# --- What is expected
# ------------------------------------------------------------------------------------------


def json_of(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def objects_in(text: str) -> list:
    """The JSON objects that a text shows."""
    found = []
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
            found.append(value)
        except ValueError:
            end = at + 1
        at = text.find("{", end)
    return found


def wants_calls(count: int, name: str, allowed: list, clean: bool):
    def check(answer: Answer) -> str:
        if answer.status != 200:
            return answer.told()
        if count and len(answer.calls) != count:
            return f"{len(answer.calls)} calls and {shortened(repr(answer.content))}"
        if not answer.calls:
            return f"no call: {answer.told()}"
        if name and answer.calls[0][0] != name:
            return f"a call of {answer.calls[0][0]}"
        if allowed and json_of(answer.calls[0][1]) not in allowed:
            return f"arguments {answer.calls[0][1]}"
        if any(not isinstance(json_of(arguments), dict) for _, arguments in answer.calls):
            return f"arguments that are no object: {answer.told()}"
        if clean and MARKUP.search(answer.content):
            return f"markup in content: {shortened(repr(answer.content))}"
        return ""

    return check


def wants(test):
    """A check of an answer with status 200."""
    return lambda answer: "" if answer.status == 200 and test(answer) else answer.told()


def first_choice(answer: Answer) -> dict:
    return (answer.body or {}).get("choices", [{}])[0]


def one_argument(test):
    def check(answer: Answer) -> str:
        values = [v for _, text in answer.calls for v in (json_of(text) or {}).values()]
        return "" if values and all(test(value) for value in values) else answer.told()

    return check


def whole_arguments(answer: Answer) -> bool:
    return all(isinstance(json_of(arguments), dict) for _, arguments in answer.calls)


def expectation(expected: str):
    """Returns a check: what is wrong about an answer, or "". None where the words are not known."""
    numbers = {"one": 1, "two": 2, "three": 3}
    if match := re.match(r"(one|two|three) calls?\b(?: (\w+))?", expected):
        objects = objects_in(expected)
        name = match[2] if objects else ""
        return wants_calls(numbers[match[1]], name, objects, True)
    if expected.startswith("the call, and no markup"):
        return wants_calls(1, "", [], True)
    if match := re.match(r"a call of (\w+)\(\) stays possible", expected):
        return wants_calls(1, match[1], [], True)
    if expected.startswith("arguments {"):
        return wants_calls(0, "", objects_in(expected), True)
    if match := re.match(r'an integer or "(\w+)"', expected):
        word = match[1]
        return one_argument(lambda v: v == word or isinstance(v, int))
    if expected.startswith("JSON in content at once"):
        return wants(lambda a: not a.reasoning and json_of(a.content) is not None)
    if match := re.match(r'"(\w+)" has the two ids', expected):
        name = match[1]
        return wants(lambda a: len((a.body or {}).get(name, [])) == 2)
    if expected.startswith("two choices with index 0 and 1"):
        return wants(lambda a: [c.get("index") for c in a.body.get("choices", [])] == [0, 1])
    if expected.startswith("log probabilities of the prompt"):
        return wants(lambda a: bool(first_choice(a).get("logprobs")))
    if expected.startswith("either no unfinished arguments"):
        return wants(whole_arguments)
    if expected.startswith("the vector"):
        return wants(lambda a: "embedding" in a.text)
    if re.match(r"a call\b", expected):
        return wants_calls(1, "", [], True)
    if re.match(r"200\b", expected):
        return wants(lambda a: True)
    return None


def as_recorded(one: Input, answer: Answer) -> bool:
    if answer.status != one.status:
        return False
    if isinstance(one.answer, str):
        return answer.status != 200 and message_of(answer.text) == shortened(one.answer)
    recorded = one.answer if isinstance(one.answer, dict) else {}
    calls = [[c["name"], c["arguments"]] for c in recorded.get("tool_calls", [])]
    return (recorded.get("content") or "") == answer.content and calls == answer.calls


def judged(one: Input, answer: Answer) -> str:
    """Why the answer is not the expected one; "" if it is."""
    check = expectation(one.expected)
    if check is not None:
        return check(answer)
    if as_recorded(one, answer):
        return f"as recorded, not {one.expected!r}: {answer.told()}"
    return f"to be looked at, {one.expected!r}: {answer.told()}"


def streamed(body: object) -> object:
    """The same request as a stream; None where that would say nothing."""
    if not isinstance(body, dict) or body.get("stream") or "grammar" not in body:
        return None
    return {**body, "stream": True}


def play(one: Input, url: str, following: Input = None) -> str:
    if isinstance(one.body, str) and not one.body.lstrip().startswith(("{", "[")):
        return "not played: its body is described in words"
    answer = ask(url, one.route, one.body)
    why = judged(one, answer)
    if why and following is not None and "or the next file is accepted" in one.expected:
        return "" if ask(url, following.route, following.body).status == 200 else why
    again = streamed(one.body)
    if why or again is None or one.route != "/v1/chat/completions":
        return why
    stream = ask(url, one.route, again)
    if (stream.content, stream.calls) != (answer.content, answer.calls):
        return f"a stream says {stream.told()}"
    return ""


# --- Servers
# ------------------------------------------------------------------------------------------


class TemplateServer(Server):
    """A server on a made model with one template. `not_ready`: why it did not start."""

    def __init__(self, cairn: Path, model: Path, template: Path, folder: Path, embeddings: bool):
        command = [cairn, "serve", "-m", model, "--chat-template-file", template, "-t", "1",
                   "--cache-disk", "0", *(["--embeddings"] if embeddings else [])]
        self.not_ready = ""
        try:
            super().__init__(command, ROOT, folder / "server.log")
        except SystemExit as error:
            self.not_ready = self.ended() if "did not start" in str(error) else str(error)

    def ended(self) -> str:
        """How the process ended; empty if it did not."""
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return ""
        if code < 0:
            return f"the server died of {signal.Signals(-code).name}"
        lines = self.log_path.read_text(errors="replace").strip().splitlines()
        return f"the server ended with status {code}: {shortened(lines[-1] if lines else '')}"


def try_template(server: TemplateServer) -> str:
    """Whether a server survives a template: it says what is wrong, or answers."""
    if server.not_ready:
        # A message at the start is right; a signal, or no end, is not.
        return "" if "ended with status" in server.not_ready else server.not_ready
    try:
        for size in range(1, 13):
            body = {"messages": [{"role": "user", "content": "x" * size}], "max_tokens": 1}
            ask(server.url, "/v1/chat/completions", body)
    except OSError as error:
        return server.ended() or str(error)
    return ""


def play_on_servers(inputs: list, options, tell) -> None:
    with tempfile.TemporaryDirectory(prefix="play_inputs") as name:
        folder = Path(name)
        model = make_model(options.lab, folder / "q.gguf", "qwen35")
        groups = {}
        for one in inputs:
            embeddings = one.route.endswith(("/embedding", "/embeddings"))
            groups.setdefault((one.template, embeddings), []).append(one)
        for (template, embeddings), group in groups.items():
            with TemplateServer(options.cairn, model, template, folder, embeddings) as server:
                for one, following in zip(group, group[1:] + [None]):
                    tell(one, played(one, following, server))


def played(one: Input, following: Input, server: TemplateServer) -> str:
    if one.is_template():
        return try_template(server)
    if server.not_ready:
        return server.not_ready
    try:
        return play(one, server.url, following)
    except OSError as error:
        return server.ended() or str(error)


def main(argv: list[str]) -> int:
    settings = Settings("inputs", __doc__, argv)
    settings.files("folder", "of the requests", 1)
    settings.add("url", str, "", "of a running server; its template is that of all inputs")
    settings.add("only", words, [], "numbers that names begin with: 10,12")
    settings.add("json", path, None, "a file for the list")
    options = settings.parsed()
    inputs = [each for each in read_inputs(options.folder[0])
              if not options.only or each.path.name.startswith(tuple(options.only))]
    listed = {}

    def tell(one: Input, why: str) -> None:
        listed[one.path.name] = why
        print(f"{'open  ' if why else 'passed'}  {one.path.name}{': ' + why if why else ''}",
              flush=True)

    if options.url:
        for one, following in zip(inputs, inputs[1:] + [None]):
            if not one.is_template():
                tell(one, play(one, options.url, following))
    else:
        play_on_servers(inputs, options, tell)
    left = sum(1 for why in listed.values() if why)
    print(f"{len(listed) - left} passed, {left} open")
    if options.json:
        options.json.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n")
    return 1 if left else 0
