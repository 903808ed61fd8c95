// Asking and being answered.
import { signal } from "@preact/signals";
import { answer, type Delta } from "../server/answer";
import { ServerError } from "../server/call";
import {
  changeChat,
  changeTurn,
  messagesBefore,
  openChat,
  saveChats,
  type Chat,
  type Turn,
} from "./chats";
import { shownAnswer } from "./prompt";
import { refresh } from "./polling";

interface Talking {
  chat: string;
  stop: AbortController;
}

// The one answer that is on its way in this page.
export const talking = signal<Talking | null>(null);
export const tokensMax = signal(Number(localStorage.getItem("cairn.tokens_max") ?? "0"));

export function setTokensMax(tokens: number): void {
  tokensMax.value = Number.isFinite(tokens) && tokens > 0 ? Math.floor(tokens) : 0;
  localStorage.setItem("cairn.tokens_max", String(tokensMax.value));
}

function withDelta(turn: Turn, delta: Delta, begun: number): Turn {
  const next = { ...turn };
  const text = delta.content !== undefined || delta.reasoning !== undefined;
  if (text && next.firstMs === undefined) next.firstMs = performance.now() - begun;
  if (text) next.state = "answering";
  if (delta.content !== undefined) next.content += delta.content;
  if (delta.reasoning !== undefined) next.reasoning = (next.reasoning ?? "") + delta.reasoning;
  if (delta.progress !== undefined) next.progress = delta.progress;
  if (delta.timings !== undefined) next.timings = delta.timings;
  if (delta.reuse !== undefined) next.reuse = delta.reuse;
  return next;
}

function trouble(error: unknown): Partial<Turn> {
  if (error instanceof DOMException && error.name === "AbortError") return { state: "stopped" };
  const words = error instanceof Error ? error.message : String(error);
  const known = error instanceof ServerError;
  return { state: "failed", trouble: known ? words : `the answer was cut off (${words})` };
}

// Deltas come faster than the screen is drawn: they are gathered for a frame.
class Gathered {
  private waiting: ((turn: Turn) => Turn)[] = [];
  private timer = 0;

  constructor(private readonly write: (change: (turn: Turn) => Turn) => void) {}

  add(change: (turn: Turn) => Turn): void {
    this.waiting.push(change);
    if (this.timer === 0) this.timer = window.setTimeout(() => this.flush(), 40);
  }

  flush(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
    const changes = this.waiting;
    this.waiting = [];
    if (changes.length > 0) this.write((turn) => changes.reduce((t, change) => change(t), turn));
  }
}

async function answerTo(chat: Chat): Promise<void> {
  const index = chat.turns.length;
  const stop = new AbortController();
  const begun = performance.now();
  const empty: Turn = { role: "assistant", content: "", state: "waiting" };
  changeChat(chat.id, (now) => ({ ...now, turns: [...now.turns, empty] }));
  shownAnswer.value = null;
  talking.value = { chat: chat.id, stop };
  const gathered = new Gathered((change) => changeTurn(chat.id, index, change));
  try {
    for await (const delta of answer(messagesBefore(chat, index), tokensMax.value, stop.signal)) {
      gathered.add((turn) => withDelta(turn, delta, begun));
    }
    gathered.add((turn) => ({ ...turn, state: "done" }));
  } catch (error) {
    gathered.add((turn) => ({ ...turn, ...trouble(error) }));
  }
  gathered.flush();
  talking.value = null;
  saveChats();
  void refresh();
}

function say(turns: Turn[]): void {
  if (talking.value !== null) return;
  const chat = { ...openChat.value, turns };
  changeChat(chat.id, () => chat);
  saveChats();
  void answerTo(chat);
}

export function send(text: string): void {
  say([...openChat.value.turns, { role: "user", content: text }]);
}

// The user's message at `index` becomes `text`; what came after it is gone.
export function edit(index: number, text: string): void {
  say([...openChat.value.turns.slice(0, index), { role: "user", content: text }]);
}

export function regenerate(index: number): void {
  say(openChat.value.turns.slice(0, index));
}

export function stop(): void {
  talking.value?.stop.abort();
}

export function setSystem(text: string): void {
  changeChat(openChat.value.id, (chat) => ({ ...chat, system: text }));
  saveChats();
}
