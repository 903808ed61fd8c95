// A prompt divided into stretches, each of one message and one source.
//
// The server reports the tokens of each message and the number of tokens of each source. In the
// order of the prompt: tokens restored or still in a slot, then prefetched ones, then computed ones.
import type { Reuse } from "../server/types";

export type Kind = "reused" | "restored" | "prefetched" | "computed";

interface Part {
  message: number | null; // null: text of the template
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
  const prefetched = Math.min(reuse.prefetched_tokens, known);
  const restored = Math.min(stored, known - prefetched);
  const ends: [Kind, number][] = [
    ["restored", restored],
    ["reused", known - prefetched],
    ["prefetched", known],
    ["computed", reuse.prompt_tokens],
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

// The whole prompt: the messages, and the template's text between them.
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

// The stretches between two tokens, cut there.
export function within(all: Stretch[], begin: number, end: number): Stretch[] {
  return all
    .map((stretch) => ({
      ...stretch,
      begin: Math.max(stretch.begin, begin),
      end: Math.min(stretch.end, end),
    }))
    .filter((stretch) => stretch.end > stretch.begin);
}
