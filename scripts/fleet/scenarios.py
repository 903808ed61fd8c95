"""Conversations that a fleet is played, made from a seed. A scenario is a list of conversations;
several of them may belong to one session, as the sub-agents of a coding agent do."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

CHAT = "chat"  # POST /v1/chat/completions
MESSAGES = "messages"  # POST /v1/messages
BOTH = "both"  # every other session uses the second
APIS = [CHAT, MESSAGES, BOTH]
# The headers in which clients name their session.
SESSION_HEADERS = {CHAT: ["session-id", "x-session-affinity"],
                   MESSAGES: ["x-claude-code-session-id"]}


@dataclass
class ToolTurn:
    """The answer called a tool, and this is its result."""

    result: str


@dataclass
class Conversation:
    session: str
    header: str  # the system prompt
    turns: list  # of str, a user's message, or ToolTurn
    api: str = CHAT
    session_header: str = ""
    number: int = 0  # among all of the scenario
    answers: list[str] = field(default_factory=list)


@dataclass
class Sizes:
    """`tokens` are bytes of text: a made model has a token for each byte."""

    headers: int
    header_tokens: int
    conversations: int
    turns: int
    turn_tokens: int


FULL = Sizes(headers=3, header_tokens=1500, conversations=24, turns=6, turn_tokens=400)
SHORT = Sizes(headers=2, header_tokens=800, conversations=18, turns=4, turn_tokens=300)


def text(tokens: int, dice: random.Random) -> str:
    words = [f"{dice.randrange(10_000):04d}" for _ in range(tokens // 5 + 1)]
    return " ".join(words)[:tokens]


def headers(sizes: Sizes, dice: random.Random) -> list[str]:
    return [f"Agent {number}. " + text(sizes.header_tokens, dice)
            for number in range(sizes.headers)]


def chats(sizes: Sizes, dice: random.Random) -> list[Conversation]:
    """People who chat under a few system prompts; each conversation grows turn by turn."""
    known = headers(sizes, dice)
    return [Conversation(f"chat-{number}", known[number % len(known)],
                         [text(sizes.turn_tokens, dice) for _ in range(sizes.turns)])
            for number in range(sizes.conversations)]


def tool_loop(sizes: Sizes, dice: random.Random) -> list[Conversation]:
    """Agents: a task, then results of tools of very different lengths."""
    known = headers(sizes, dice)
    conversations = []
    for number in range(sizes.conversations):
        turns = [text(sizes.turn_tokens, dice)]
        turns += [ToolTurn(text(sizes.turn_tokens * dice.randrange(1, 8) // 4, dice))
                  for _ in range(sizes.turns - 1)]
        conversations.append(Conversation(f"agent-{number}", known[number % len(known)], turns))
    return conversations


def sub_agents(sizes: Sizes, dice: random.Random) -> list[Conversation]:
    """Sessions of a main conversation and two helpers, which have a system prompt of their own."""
    known = headers(sizes, dice)
    conversations = []
    for number in range(sizes.conversations // 3):
        session, main = f"session-{number}", known[number % (len(known) - 1)]
        for header, turns in ((main, sizes.turns), (known[-1], sizes.turns - 1),
                              (known[-1], sizes.turns - 1)):
            conversations.append(Conversation(
                session, header, [text(sizes.turn_tokens, dice) for _ in range(turns)]))
    return conversations


def team(sizes: Sizes, dice: random.Random) -> list[Conversation]:
    """A team that uses one agent: every conversation begins with its system prompt."""
    return chats(replace(sizes, headers=1), dice)


@dataclass
class Scenario:
    """How conversations are made and played."""

    conversations: Callable[[Sizes, random.Random], list[Conversation]]
    in_rounds: bool = False  # all are alive at once, and go on turn by turn
    mixed: bool = False  # played once, over both APIs
    clients: int | None = None  # at a time, whatever the run has
    busiest_max: float | None = None  # the share of the turns that may be one server's of four


# In "team" there are more clients than one server has slots: a front that knows only who has the
# system prompt sends all of them to one server, and the others have nothing to do.
SCENARIOS = {"chats": Scenario(chats), "tool-loop": Scenario(tool_loop),
             "sub-agents": Scenario(sub_agents),
             "crowd": Scenario(chats, in_rounds=True, mixed=True),
             "team": Scenario(team, mixed=True, clients=16, busiest_max=0.75)}


def make(name: str, sizes: Sizes, api: str, seed: int) -> list[Conversation]:
    conversations = SCENARIOS[name].conversations(sizes, random.Random(f"{name}/{seed}"))
    sessions = {}
    for number, conversation in enumerate(conversations):
        conversation.number = number
        session = sessions.setdefault(conversation.session, len(sessions))
        conversation.api = api if api != BOTH else (CHAT, MESSAGES)[session % 2]
        names = SESSION_HEADERS[conversation.api]
        conversation.session_header = names[(session // 2) % len(names)]
    return conversations
