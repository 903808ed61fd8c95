// How many tokens a text has, asked once for each text.
import { signal } from "@preact/signals";
import { json } from "../server/call";

const kTextsMax = 2000;

export const tokenCounts = signal<ReadonlyMap<string, number>>(new Map());
const asked = new Set<string>();

async function ask(text: string): Promise<void> {
  try {
    const { tokens } = await json<{ tokens: unknown[] }>("POST", "/tokenize", { content: text });
    const next = new Map(tokenCounts.value.size < kTextsMax ? tokenCounts.value : []);
    tokenCounts.value = next.set(text, tokens.length);
  } catch {
    asked.delete(text); // asked again when it is wanted again
  }
}

export function wantCounts(texts: string[]): void {
  for (const text of texts) {
    if (text === "" || asked.has(text)) continue;
    asked.add(text);
    void ask(text);
  }
}
