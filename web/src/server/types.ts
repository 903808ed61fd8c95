// The parts of the server's answers that the page uses. docs/openapi.yaml describes all of them.

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
  reason: string;
  sentence: string;
  place?: Place;
  prompt_excerpt?: string;
  stored_excerpt?: string;
  advice?: string;
}

// The tokens [begin, end) of a message in the prompt. Both are absent when the place is uncertain.
export interface MessageTokens {
  index: number;
  role: string;
  begin?: number;
  end?: number;
}

// An image or a recording in the prompt, at the tokens [begin, end).
export interface Medium {
  kind: "image" | "audio";
  part: string; // the part of the request that has its file: "messages[2].content[1]"
  message?: number;
  begin: number;
  end: number;
  width?: number; // pixels of an image
  height?: number;
  seconds?: number; // of a recording
  thumbnail?: string; // path of a small PNG file; absent when the server has none
}

// The `cairn` object: the sources of one prompt's tokens.
export interface Reuse {
  prompt_tokens: number;
  reused_tokens: number;
  computed_tokens: number;
  live_tokens: number;
  ram_tokens: number;
  disk_tokens: number;
  prefetched_tokens: number;
  shared_tokens: number;
  path: string;
  restored_bytes?: number;
  restore_ms?: number;
  checkpoint?: { position: number; class: string; age_ms?: number };
  messages?: MessageTokens[]; // not in lists of requests
  media?: Medium[]; // nor there
  explanation?: Explanation;
}

// How far a prompt is prefilled, while it is.
export interface Progress {
  total: number; // tokens
  cache: number; // reused
  processed: number; // reused or prefilled so far
}

export interface Timings {
  cache_n: number;
  prompt_n: number;
  prompt_ms: number;
  predicted_n: number;
  predicted_ms: number;
}

// An entry of GET /v1/models. Only a router's has a source.
export interface ListedModel {
  id: string;
  source?: string;
  pinned?: boolean;
  status: { value: "unloaded" | "loading" | "loaded" | "unloading"; failed?: boolean; error?: string };
}

export interface ServedRequest {
  id: string;
  api: string;
  begun: number; // seconds since 1970
  state: "waiting" | "answering" | "done" | "cancelled" | "failed" | "refused";
  method?: string; // of a refused request, as the next two
  status?: number;
  message?: string;
  reuse?: Reuse;
  queue_ms?: number;
  prompt_ms?: number;
  generated_tokens?: number;
  generated_ms?: number;
  drafted_tokens?: number; // with speculative decoding
  accepted_tokens?: number;
}

// Of GET /cairn/doctor.
export interface DiagnosedCause {
  cause: string;
  sentence: string;
  requests: number;
  tokens: number;
  minutes: number;
  since: number; // seconds since 1970
  cure: string;
  example: { request: string; sentence?: string; stored_excerpt?: string; prompt_excerpt?: string };
}

export interface DiagnosedClient {
  agent: string;
  model: string;
  prompt_tokens: number;
  reused_tokens: number;
  prefilled_tokens: number;
  unavoidable_tokens: number;
  avoidable_tokens: number;
  avoidable_minutes: number;
  causes: DiagnosedCause[];
}

export interface Tier {
  bytes: number;
  bytes_max: number | null;
  objects?: number;
  day_written_bytes?: number; // of the disk: in the last 24 hours
  day_written_bytes_max?: number | null;
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
