// The checkpoint whose details are shown, in the tree.
import { signal } from "@preact/signals";
import { view } from "./view";

export const chosenNode = signal<string | null>(null);

// Shows it, from wherever it was clicked.
export function choose(id: string): void {
  chosenNode.value = id;
  view.value = "cache";
}
