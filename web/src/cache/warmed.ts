// What POST /cairn/cache/warm did, in words.
import { number } from "../parts/words";

export interface Warmed {
  tokens: number;
  read_tokens: number;
  live_tokens: number;
  ram_tokens: number;
  disk_tokens: number;
}

export function warmedWords(warmed: Warmed): string {
  const sources: [number, string][] = [
    [warmed.live_tokens, "were in the context"],
    [warmed.ram_tokens, "came from memory"],
    [warmed.disk_tokens, "came from disk"],
    [warmed.read_tokens, "were read for it"],
  ];
  const told = sources
    .filter(([tokens]) => tokens > 0)
    .map(([tokens, words]) => `${number(tokens)} ${words}`);
  return `${number(warmed.tokens)} tokens are ready: ${told.join(", ")}.`;
}
