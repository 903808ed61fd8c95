// Which part is in front where there is room for one only.
import { signal } from "@preact/signals";

export type View = "chat" | "prompt" | "cache" | "live" | "requests" | "doctor";

export const view = signal<View>("chat");
