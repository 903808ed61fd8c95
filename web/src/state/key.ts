// The API key: asked for when the server wants one, kept until the browser's tab is closed.
import { signal } from "@preact/signals";

const kPlace = "cairn.key";

export const key = signal(sessionStorage.getItem(kPlace) ?? "");
export const keyWanted = signal(false);

export function useKey(text: string): void {
  key.value = text.trim();
  sessionStorage.setItem(kPlace, key.value);
  keyWanted.value = false;
}
