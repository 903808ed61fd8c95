// A prompt cut into stretches: which message, and where its tokens came from.
//
// The server says which tokens each message takes, and how many tokens came from where; in the
// order of the prompt that is: what was in the context or brought back, then what had been read
// ahead, then what was read.
import type { Reuse } from "../server/types";

export type Kind = "reused" | "restored" | "warmed" | "read";

interface Part {
  message: number | null; // null: no message's, but the template's own
  begin: number;
  end: number; // tokens
}

export interface Stretch extends Part {
  kind: Kind;
}

export interface Span extends Part {
  message: number;
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

// The messages whose place in the prompt is known.
export function spans(reuse: Reuse | null): Span[] {
  return (reuse?.messages ?? []).flatMap(({ index, begin, end }) =>
    begin === undefined || end === undefined ? [] : [{ message: index, begin, end }],
  );
}

// From the prompt's first token to its last: the messages, and what is nobody's between them.
function parts(all: Span[], tokens: number): Part[] {
  const cut: Part[] = [];
  let at = 0;
  for (const span of all) {
    if (span.begin > at) cut.push({ message: null, begin: at, end: span.begin });
    cut.push(span);
    at = span.end;
  }
  if (tokens > at) cut.push({ message: null, begin: at, end: tokens });
  return cut;
}

export function stretches(all: Span[], reuse: Reuse | null): Stretch[] {
  if (reuse === null) return [];
  const from = sources(reuse);
  const cut: Stretch[] = [];
  for (const part of parts(all, reuse.prompt_tokens)) {
    for (const source of from) {
      const begin = Math.max(part.begin, source.begin);
      const end = Math.min(part.end, source.end);
      if (end > begin) cut.push({ message: part.message, kind: source.kind, begin, end });
    }
  }
  return cut;
}
