// What the server says, as far as the page reads it. docs/openapi.yaml has the whole of it.

export type Role = "system" | "user" | "assistant";

export interface SentMessage {
  role: Role;
  content: string;
  reasoning_content?: string;
}

export interface Place {
  part: string;
  message?: number;
  role?: string;
  character: number;
}

export interface Explanation {
  why: string;
  sentence: string;
  place?: Place;
  prompt_excerpt?: string;
  stored_excerpt?: string;
  advice?: string;
}

// Which tokens of the prompt a message takes; no begin and no end: that is not known for certain.
export interface MessageTokens {
  index: number;
  role: string;
  begin?: number;
  end?: number;
}

// The `cairn` object: where the tokens of one prompt came from.
export interface Reuse {
  prompt_tokens: number;
  reused_tokens: number;
  read_tokens: number;
  live_tokens: number;
  ram_tokens: number;
  disk_tokens: number;
  warmed_tokens: number;
  shared_tokens: number;
  way: string;
  restored_bytes?: number;
  restore_ms?: number;
  checkpoint?: { position: number; class: string; age_ms?: number };
  messages?: MessageTokens[]; // not in lists of requests
  explanation?: Explanation;
}

export interface Timings {
  cache_n: number;
  prompt_n: number;
  prompt_ms: number;
  predicted_n: number;
  predicted_ms: number;
}

export interface ServedRequest {
  id: string;
  api: string;
  begun: number; // seconds since 1970
  state: "waiting" | "answering" | "done" | "cancelled" | "failed";
  reuse?: Reuse;
  queue_ms?: number;
  prompt_ms?: number;
  generated_tokens?: number;
  generated_ms?: number;
}

export interface Tier {
  bytes: number;
  bytes_max: number | null;
  objects?: number;
}

export interface CacheState {
  tiers: { ram: Tier; disk: Tier | null };
  classes: { class: string; tier: string; checkpoints: number; bytes: number }[];
  segments: { count: number; bytes: number };
  slots: { id: number; tokens: number; busy: boolean }[];
}

export interface TreeNode {
  id: string;
  parent: string | null;
  position: number;
  class: string;
  tier: string;
  bytes: number;
  age_ms?: number;
  uses: number;
  pinned: boolean;
  text?: string;
}

export interface TreePage {
  nodes: TreeNode[];
  more: string | null;
}
