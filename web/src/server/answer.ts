// An answer as it comes: POST /v1/chat/completions with a stream, told as it grows.
import { call, ServerError } from "./call";
import { events } from "./events";
import { chosenModel } from "../state/models";
import type { Progress, Reuse, SentMessage, Timings } from "./types";

export interface Delta {
  id?: string;
  content?: string;
  reasoning?: string;
  finish?: string;
  reuse?: Reuse;
  timings?: Timings;
  progress?: Progress;
}

interface Chunk {
  id?: string;
  choices?: {
    delta?: { content?: string | null; reasoning_content?: string | null };
    finish_reason?: string | null;
  }[];
  timings?: Timings;
  cairn?: Reuse;
  prompt_progress?: Progress;
  error?: { message?: string; code?: number };
}

function toDelta(chunk: Chunk): Delta {
  const delta: Delta = {};
  const choice = chunk.choices?.[0];
  if (chunk.id !== undefined) delta.id = chunk.id;
  if (choice?.delta?.content) delta.content = choice.delta.content;
  if (choice?.delta?.reasoning_content) delta.reasoning = choice.delta.reasoning_content;
  if (choice?.finish_reason) delta.finish = choice.finish_reason;
  if (chunk.timings !== undefined) delta.timings = chunk.timings;
  if (chunk.cairn !== undefined) delta.reuse = chunk.cairn;
  if (chunk.prompt_progress !== undefined) delta.progress = chunk.prompt_progress;
  return delta;
}

// Throws as call() does, and a ServerError when the stream ends before the answer does.
export async function* answer(
  messages: SentMessage[],
  tokensMax: number,
  signal: AbortSignal,
): AsyncGenerator<Delta> {
  const body = {
    messages,
    stream: true,
    return_progress: true,
    stream_options: { include_usage: true },
    cairn: { explain: true },
    ...(chosenModel.value === "" ? {} : { model: chosenModel.value }),
    ...(tokensMax > 0 ? { max_tokens: tokensMax } : {}),
  };
  const response = await call("POST", "/v1/chat/completions", body, signal);
  if (response.body === null) throw new ServerError(0, "the answer has no body");
  for await (const data of events(response.body)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error !== undefined) {
      throw new ServerError(chunk.error.code ?? 500, chunk.error.message ?? "the answer failed");
    }
    yield toDelta(chunk);
  }
  throw new ServerError(0, "the answer was cut off: the connection ended");
}
