"""A proxy between a client and the server, on loopback: it passes everything on as it comes and
writes down what passed."""

import base64
import functools
import hashlib
import http.client
import http.server
import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

# What makes the model answer; a client may ask for anything else as often as it likes.
ANSWERING = ("/v1/messages", "/messages", "/v1/chat/completions", "/v1/responses",
             "/v1/completions", "/api/chat", "/api/generate")
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "host", "content-length"}


def pictures_in(value):
    """The base64 of all pictures in a body, in all APIs' forms."""
    if isinstance(value, str) and value.startswith("data:image/"):
        yield value.partition(",")[2]
    elif isinstance(value, dict) and str(value.get("media_type", "")).startswith("image/"):
        yield str(value.get("data", ""))
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from pictures_in(inner)


@dataclass
class Request:
    number: int
    method: str
    path: str
    body: bytes
    status: int = 0
    seconds: float = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    problem: str = ""  # what went wrong on the way, in words
    answer: bytes = b""

    @property
    def answering(self) -> bool:
        return self.method == "POST" and self.path.split("?")[0] in ANSWERING

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.path.encode() + b"\n" + self.body).hexdigest()

    @property
    def refusal(self) -> str:
        """The message of an error, in all APIs' forms."""
        try:
            error = json.loads(self.answer)["error"]
            return str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, KeyError, TypeError):
            return self.answer[:200].decode(errors="replace") or "without a word"

    @functools.cached_property
    def pictures(self) -> list:
        """The pictures in the body, by the hashes of their files, in order."""
        try:
            return [hashlib.sha256(base64.b64decode(text)).hexdigest()
                    for text in pictures_in(json.loads(self.body))]
        except ValueError:
            return []

    @functools.cached_property
    def model(self) -> str:
        try:
            return str(json.loads(self.body).get("model", ""))
        except (ValueError, AttributeError):
            return ""

    def offers_tools(self) -> bool:
        try:
            return bool(json.loads(self.body).get("tools"))
        except (ValueError, AttributeError):
            return False


def events(answer: bytes):
    """The JSON objects of an answer: the events or lines of a stream, or the body itself."""
    if answer.lstrip().startswith(b"{"):
        try:
            yield json.loads(answer)
        except ValueError:
            yield from map(json.loads, answer.splitlines())
        return
    for line in answer.splitlines():
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            yield json.loads(line[5:])


def tokens_of(answer: bytes) -> Optional[tuple[int, int]]:
    """Tokens of the prompt and how many of them were reused, as the answer says."""
    found = None
    for event in events(answer):
        usage = None
        for holder in (event, event.get("response"), event.get("message")):
            if isinstance(holder, dict):
                usage = holder.get("usage") or usage
        if usage and "cache_read_input_tokens" in usage:
            # input_tokens are those that were neither reused nor read up to a mark.
            reused = usage["cache_read_input_tokens"]
            read = usage["input_tokens"] + usage.get("cache_creation_input_tokens", 0)
            found = (read + reused, reused)
        elif usage and "input_tokens" in usage:
            details = usage.get("input_tokens_details") or {}
            found = (usage["input_tokens"], details.get("cached_tokens", 0))
        elif usage and "prompt_tokens" in usage:
            details = usage.get("prompt_tokens_details") or {}
            found = (usage["prompt_tokens"], details.get("cached_tokens", 0))
        elif event.get("timings"):
            timings = event["timings"]
            found = (timings["prompt_n"] + timings["cache_n"], timings["cache_n"])
    return found


class QuietServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that is done drops its idle connections; while it waits for an answer, that is
        noted as the request's problem."""


@dataclass
class Recorder:
    """Listens on a free port and passes on to `port`. Keeps the bodies in `folder`."""

    port: int
    folder: Path
    requests: list = field(default_factory=list)

    def __post_init__(self):
        self._lock = threading.Lock()
        self.folder.mkdir(parents=True, exist_ok=True)
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                recorder.pass_on(self)

            do_GET = do_HEAD = do_PUT = do_DELETE = do_OPTIONS = do_POST

        self._http = QuietServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def close(self):
        self._http.shutdown()
        self._http.server_close()

    def pass_on(self, client):
        size = int(client.headers.get("Content-Length") or 0)
        body = client.rfile.read(size) if size else b""
        with self._lock:
            request = Request(len(self.requests) + 1, client.command, client.path, body)
            self.requests.append(request)
        if client.headers.get("Transfer-Encoding"):
            request.problem = "a chunked request body, which is not recorded"
        began = time.monotonic()
        try:
            self._ask(client, request)
        except OSError as error:
            request.problem = f"broken off: {error}"
            client.close_connection = True
        request.seconds = time.monotonic() - began
        self._keep(request)

    def _ask(self, client, request: Request):
        server = http.client.HTTPConnection("127.0.0.1", self.port, timeout=900)
        headers = {k: v for k, v in client.headers.items() if k.lower() not in HOP_BY_HOP}
        server.request(request.method, request.path, request.body or None, headers)
        answer = server.getresponse()
        request.status = answer.status
        client.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                client.send_header(name, value)
        length = answer.getheader("Content-Length")
        chunked = length is None and request.method != "HEAD"
        if length is not None:
            client.send_header("Content-Length", length)
        elif chunked:
            client.send_header("Transfer-Encoding", "chunked")
        client.end_headers()
        try:
            while piece := answer.read1(65536):
                request.answer += piece
                client.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
                client.wfile.flush()
            if chunked:
                client.wfile.write(b"0\r\n\r\n")
        finally:
            server.close()

    def _keep(self, request: Request):
        name = f"{request.number:03}-{request.path.split('?')[0].strip('/').replace('/', '-')}"
        (self.folder / f"{name}.request").write_bytes(request.body)
        (self.folder / f"{name}.answer").write_bytes(request.answer)
        if not request.answering or request.status != 200:
            return
        try:
            tokens = tokens_of(request.answer)
        except (ValueError, KeyError, TypeError) as error:
            request.problem = request.problem or f"an answer that cannot be read: {error}"
            return
        if tokens is None:
            request.problem = request.problem or "an answer that names no tokens"
        else:
            request.prompt_tokens, request.reused_tokens = tokens
