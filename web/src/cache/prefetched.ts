// The result of POST /cairn/cache/prefetch as text.
import { number } from "../parts/words";

export interface Prefetched {
  tokens: number;
  computed_tokens: number;
  live_tokens: number;
  ram_tokens: number;
  disk_tokens: number;
}

export function prefetchedWords(prefetched: Prefetched): string {
  const sources: [number, string][] = [
    [prefetched.live_tokens, "were in a slot"],
    [prefetched.ram_tokens, "came from memory"],
    [prefetched.disk_tokens, "came from disk"],
    [prefetched.computed_tokens, "were prefilled"],
  ];
  const told = sources
    .filter(([tokens]) => tokens > 0)
    .map(([tokens, words]) => `${number(tokens)} ${words}`);
  return `${number(prefetched.tokens)} tokens are ready: ${told.join(", ")}.`;
}
