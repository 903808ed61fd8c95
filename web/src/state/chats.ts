// The conversations, stored in the browser. The server stores none: every turn sends the whole
// conversation.
import { computed, signal } from "@preact/signals";
import type { Progress, Reuse, SentMessage, Timings } from "../server/types";

export type TurnState = "waiting" | "answering" | "done" | "stopped" | "failed";

export interface Turn {
  role: "user" | "assistant";
  content: string;
  reasoning?: string;
  // Of answers:
  state?: TurnState;
  trouble?: string;
  reuse?: Reuse;
  timings?: Timings;
  progress?: Progress; // while it waits for its first token
  firstMs?: number; // from the click to the first token
}

export interface Chat {
  id: string;
  system: string;
  turns: Turn[];
}

const kPlace = "cairn.chats";
const kChatsMax = 30;

function newChatObject(): Chat {
  return { id: `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`, system: "", turns: [] };
}

// An answer that was running when the page was closed is stopped. Figures that an older version of
// the page saved have other names and are dropped.
function settled(chat: Chat): Chat {
  const turns = chat.turns.map((turn) => {
    const next = { ...turn };
    if (turn.state === "waiting" || turn.state === "answering") next.state = "stopped";
    delete next.progress;
    if (turn.reuse?.computed_tokens === undefined) delete next.reuse;
    return next;
  });
  return { ...chat, turns };
}

function load(): Chat[] {
  try {
    const chats = JSON.parse(localStorage.getItem(kPlace) ?? "[]") as Chat[];
    if (Array.isArray(chats) && chats.length > 0) return chats.map(settled);
  } catch {
    // Written by another version: begin anew.
  }
  return [newChatObject()];
}

export const chats = signal<Chat[]>(load());
export const openId = signal(chats.value[0]?.id ?? "");
export const openChat = computed<Chat>(
  () => chats.value.find((chat) => chat.id === openId.value) ?? chats.value[0] ?? newChatObject(),
);

export function saveChats(): void {
  for (let kept = chats.value; kept.length > 0; kept = kept.slice(0, -1)) {
    try {
      localStorage.setItem(kPlace, JSON.stringify(kept.slice(0, kChatsMax)));
      return;
    } catch {
      // No room: the oldest goes.
    }
  }
}

export function changeChat(id: string, change: (chat: Chat) => Chat): void {
  chats.value = chats.value.map((chat) => (chat.id === id ? change(chat) : chat));
}

export function changeTurn(id: string, index: number, change: (turn: Turn) => Turn): void {
  changeChat(id, (chat) => ({
    ...chat,
    turns: chat.turns.map((turn, i) => (i === index ? change(turn) : turn)),
  }));
}

export function startChat(): void {
  const fresh = chats.value.find((chat) => chat.turns.length === 0);
  if (fresh === undefined) chats.value = [newChatObject(), ...chats.value];
  openId.value = fresh?.id ?? chats.value[0]?.id ?? "";
}

export function forgetChat(id: string): void {
  const left = chats.value.filter((chat) => chat.id !== id);
  chats.value = left.length > 0 ? left : [newChatObject()];
  if (openId.value === id) openId.value = chats.value[0]?.id ?? "";
  saveChats();
}

export function titleOf(chat: Chat): string {
  const text = chat.turns[0]?.content.trim() ?? "";
  return text === "" ? "New conversation" : text.length > 48 ? `${text.slice(0, 47)}…` : text;
}

// What is sent when the turns before `end` are there.
export function messagesBefore(chat: Chat, end: number): SentMessage[] {
  const messages: SentMessage[] = [];
  if (chat.system.trim() !== "") messages.push({ role: "system", content: chat.system });
  for (const turn of chat.turns.slice(0, end)) {
    const message: SentMessage = { role: turn.role, content: turn.content };
    if (turn.reasoning) message.reasoning_content = turn.reasoning;
    messages.push(message);
  }
  return messages;
}
