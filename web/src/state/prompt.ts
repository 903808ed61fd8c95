// The prompt shown in the bar: the messages of one answer and the sources of its tokens.
import { computed, signal } from "@preact/signals";
import type { Progress, Reuse, SentMessage, Timings } from "../server/types";
import { messagesBefore, openChat, type Turn } from "./chats";

// The index of an answer among the turns; null: the newest.
export const shownAnswer = signal<number | null>(null);

export interface Prompt {
  index: number;
  messages: SentMessage[];
  answer: Turn;
  reuse: Reuse | null; // null: not known yet
  explained: boolean; // false: made from the timings alone
  progress: Progress | null; // until it is known
}

// For servers without explanations.
function fromTimings(timings: Timings): Reuse {
  return {
    prompt_tokens: timings.cache_n + timings.prompt_n,
    reused_tokens: timings.cache_n,
    computed_tokens: timings.prompt_n,
    live_tokens: timings.cache_n,
    ram_tokens: 0,
    disk_tokens: 0,
    prefetched_tokens: 0,
    shared_tokens: 0,
    path: "",
  };
}

// What is known while a prompt is prefilled.
export function fromProgress(progress: Progress): Reuse {
  const { total, cache } = progress;
  return fromTimings({ cache_n: cache, prompt_n: total - cache, prompt_ms: 0, predicted_n: 0, predicted_ms: 0 });
}

export const prompt = computed<Prompt | null>(() => {
  const chat = openChat.value;
  const last = chat.turns.map((turn) => turn.role).lastIndexOf("assistant");
  const wanted = shownAnswer.value ?? last;
  const index = chat.turns[wanted]?.role === "assistant" ? wanted : last;
  const answer = chat.turns[index];
  if (answer === undefined) return null;
  const timed = answer.timings === undefined ? null : fromTimings(answer.timings);
  return {
    index,
    messages: messagesBefore(chat, index),
    answer,
    reuse: answer.reuse ?? timed,
    explained: answer.reuse !== undefined,
    progress: answer.reuse === undefined && timed === null ? (answer.progress ?? null) : null,
  };
});
