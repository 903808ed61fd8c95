// The checkpoint whose details are shown.
import { signal } from "@preact/signals";

export const chosenNode = signal<string | null>(null);
