// A prompt cut into stretches: which message, and where its tokens came from.
//
// The server says how many tokens came from where; in the order of the prompt that is: what was in
// the context or brought back, then what had been read ahead, then what was read. How long each
// message is, is asked (/tokenize); the tokens of the template itself are shared out evenly.
import type { Reuse, SentMessage } from "../server/types";

export type Kind = "reused" | "restored" | "warmed" | "read" | "unknown";

export interface Stretch {
  message: number;
  kind: Kind;
  begin: number;
  end: number; // tokens
}

export interface Span {
  message: number;
  begin: number;
  end: number;
}

interface Source {
  kind: Kind;
  begin: number;
  end: number;
}

function sources(reuse: Reuse): Source[] {
  const stored = reuse.ram_tokens + reuse.disk_tokens;
  const known = reuse.reused_tokens;
  const warmed = Math.min(reuse.warmed_tokens, known);
  const restored = Math.min(stored, known - warmed);
  const ends: [Kind, number][] = [
    ["restored", restored],
    ["reused", known - warmed],
    ["warmed", known],
    ["read", reuse.prompt_tokens],
  ];
  let begin = 0;
  const all: Source[] = [];
  for (const [kind, end] of ends) {
    if (end > begin) all.push({ kind, begin, end });
    begin = Math.max(begin, end);
  }
  return all;
}

// The weight of a message while its count is not there yet.
function guess(text: string): number {
  return Math.ceil(text.length / 4);
}

export function spans(
  messages: SentMessage[],
  counts: ReadonlyMap<string, number>,
  promptTokens: number,
): Span[] {
  const sizes = messages.map(({ content }) => counts.get(content) ?? guess(content));
  const sum = sizes.reduce((a, b) => a + b, 0);
  // Without a total the sum is one; with one that is smaller, all shrink.
  const total = promptTokens > 0 ? promptTokens : sum;
  const scale = sum > total ? total / sum : 1;
  const share = Math.max(0, total - sum) / Math.max(1, messages.length);
  let at = 0;
  return sizes.map((size, message) => {
    const begin = at;
    at = message === messages.length - 1 ? total : begin + size * scale + share;
    return { message, begin: Math.round(begin), end: Math.round(at) };
  });
}

export function stretches(all: Span[], reuse: Reuse | null): Stretch[] {
  if (reuse === null) return all.map((span) => ({ ...span, kind: "unknown" as const }));
  const cut: Stretch[] = [];
  for (const span of all) {
    for (const source of sources(reuse)) {
      const begin = Math.max(span.begin, source.begin);
      const end = Math.min(span.end, source.end);
      if (end > begin) cut.push({ message: span.message, kind: source.kind, begin, end });
    }
  }
  return cut;
}
