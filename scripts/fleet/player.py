"""Plays conversations through a front, several at a time, as clients do: streaming, under the
session's header, and trying a failed turn again."""

import http.client
import json
import queue
import threading
import time
from dataclasses import dataclass

from bench.chat import events_of
from fleet import scenarios
from fleet.scenarios import CHAT, Conversation, ToolTurn
from fleet.servers import KEY

ANSWER_TOKENS = 24
TRIES_MAX = 5
RETRY_S = 0.2
TIMEOUT_S = 120


@dataclass
class Attempt:
    """One request."""

    session: str
    conversation: int  # its number
    turn: int
    api: str
    server: str = ""  # who answered, as far as known
    status: int = 0
    error: str = ""  # empty if it was answered to the end
    began: bool = False  # a piece of the answer came
    first_token_ms: float = 0.0
    ended_s: float = 0.0


def chat_body(conversation: Conversation) -> dict:
    messages = [{"role": "system", "content": conversation.header}]
    for number, turn in enumerate(conversation.turns[:len(conversation.answers) + 1]):
        if isinstance(turn, ToolTurn):
            messages[-1]["tool_calls"] = [
                {"id": f"call-{number}", "type": "function",
                 "function": {"name": "look", "arguments": json.dumps({"at": number})}}]
            messages.append({"role": "tool", "tool_call_id": f"call-{number}",
                             "content": turn.result})
        else:
            messages.append({"role": "user", "content": turn})
        if number < len(conversation.answers):
            messages.append({"role": "assistant", "content": conversation.answers[number]})
    return {"model": "made", "max_tokens": ANSWER_TOKENS, "temperature": 0, "stream": True,
            "ignore_eos": True, "messages": messages}


def messages_body(conversation: Conversation) -> dict:
    messages = []
    for number, turn in enumerate(conversation.turns[:len(conversation.answers) + 1]):
        if isinstance(turn, ToolTurn):
            messages[-1]["content"].append({"type": "tool_use", "id": f"call-{number}",
                                            "name": "look", "input": {"at": number}})
            content = [{"type": "tool_result", "tool_use_id": f"call-{number}",
                        "content": turn.result}]
        else:
            content = [{"type": "text", "text": turn}]
        messages.append({"role": "user", "content": content})
        if number < len(conversation.answers):
            messages.append({"role": "assistant", "content": [
                {"type": "text", "text": conversation.answers[number] or "."}]})
    return {"model": "made", "max_tokens": ANSWER_TOKENS, "temperature": 0, "stream": True,
            "system": conversation.header, "messages": messages}


def chat_piece(event: dict) -> tuple[str, bool]:
    choice = (event.get("choices") or [{}])[0]
    return choice.get("delta", {}).get("content") or "", choice.get("finish_reason") is not None


def messages_piece(event: dict) -> tuple[str, bool]:
    return event.get("delta", {}).get("text") or "", event.get("type") == "message_stop"


APIS = {CHAT: ("/v1/chat/completions", chat_body, chat_piece),
        scenarios.MESSAGES: ("/v1/messages", messages_body, messages_piece)}


class Player:
    def __init__(self, host: str, port: int, clients: int):
        self._host, self._port, self._clients = host, port, clients
        self._lock = threading.Lock()
        self._ended = 0  # turns
        self._pause_s = 0.0
        self.attempts: list[Attempt] = []

    def play(self, conversations: list[Conversation], halfway=None, rounds: bool = False,
             pause_s: float = 0):
        """Plays all turns that have no answer yet: each client one conversation to its end, or with
        `rounds` all of them turn by turn, so that all are alive at once. A client pauses after each
        turn; clients begin spread over one pause. Calls `halfway` on a thread of its own when half
        of the turns have ended, and waits for its end. RuntimeError: a turn failed again and
        again."""
        turns = sum(len(each.turns) - len(each.answers) for each in conversations)
        self._ended = 0
        self._pause_s = pause_s
        due = queue.Queue() if rounds else queue.LifoQueue()
        for conversation in conversations if rounds else reversed(conversations):
            due.put(conversation)
        errors = []
        half = threading.Event()
        begins = [pause_s * number / self._clients for number in range(self._clients)]
        workers = [threading.Thread(target=self._work, daemon=True,
                                    args=(due, turns, half, errors, begin_s))
                   for begin_s in begins]
        event = threading.Thread(target=self._when_half, args=(half, halfway, errors),
                                 daemon=True)
        for thread in (*workers, event):
            thread.start()
        for thread in workers:
            thread.join()
        half.set()
        event.join()
        if errors:
            raise RuntimeError(errors[0])

    @property
    def address(self) -> tuple[str, int]:
        return self._host, self._port

    def name_servers(self, servers):
        """Some fronts know servers by their addresses: names them by their places."""
        places = {server.address: server.place for server in servers}
        for attempt in self.attempts:
            attempt.server = places.get(attempt.server, attempt.server)

    def last_servers(self) -> dict:
        """The server that answered each conversation last."""
        return {attempt.conversation: attempt.server for attempt in self.attempts
                if not attempt.error}

    @staticmethod
    def _when_half(half: threading.Event, halfway, errors: list):
        half.wait()
        if halfway is None or errors:
            return
        try:
            halfway()
        except (RuntimeError, OSError) as error:
            errors.append(str(error))

    def _work(self, due: queue.Queue, turns: int, half: threading.Event, errors: list,
              begin_s: float):
        time.sleep(begin_s)
        while not errors:
            with self._lock:
                if self._ended >= turns:
                    return
            try:
                conversation = due.get(timeout=0.05)
            except queue.Empty:
                continue
            if not self._take_turn(conversation):
                errors.append(f"a turn of {conversation.session} failed {TRIES_MAX} times: "
                              f"{self.attempts[-1].error}")
                return
            with self._lock:
                self._ended += 1
                if self._ended >= turns // 2:
                    half.set()
            if len(conversation.answers) < len(conversation.turns):
                time.sleep(self._pause_s)
                due.put(conversation)

    def _take_turn(self, conversation: Conversation) -> bool:
        for _ in range(TRIES_MAX):
            attempt = Attempt(conversation.session, conversation.number,
                              len(conversation.answers), conversation.api)
            answer = self._send(conversation, attempt)
            attempt.ended_s = time.monotonic()
            with self._lock:
                self.attempts.append(attempt)
            if not attempt.error:
                conversation.answers.append(answer)
                return True
            time.sleep(RETRY_S)
        return False

    def _send(self, conversation: Conversation, attempt: Attempt) -> str:
        path, make_body, piece_of = APIS[conversation.api]
        headers = {"Content-Type": "application/json",
                   conversation.session_header: conversation.session}
        if conversation.api == CHAT:
            headers["Authorization"] = f"Bearer {KEY}"
        else:
            headers["x-api-key"] = KEY
        answer = ""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        try:
            begin = time.monotonic()
            connection.request("POST", path, json.dumps(make_body(conversation)), headers)
            reply = connection.getresponse()
            attempt.status = reply.status
            attempt.server = reply.getheader("x-served-by") or ""
            if reply.status != 200:
                body = reply.read().decode(errors="replace")[:300]
                attempt.error = f"status {reply.status}, {body or 'no body'}"
                return ""
            ended = False
            for event in events_of(reply):
                piece, ends = piece_of(event)
                if piece and not attempt.began:
                    attempt.began = True
                    attempt.first_token_ms = (time.monotonic() - begin) * 1000
                answer += piece
                ended = ended or ends
            if not ended:
                attempt.error = "the stream broke off"
        except (OSError, http.client.HTTPException, ValueError) as error:
            attempt.error = f"{type(error).__name__}: {error}"
        finally:
            connection.close()
        return answer
