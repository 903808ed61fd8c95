// The server's figures of the last minutes, for the charts.
import { effect, signal } from "@preact/signals";
import { total } from "../server/metrics";
import { cache, metrics, requests } from "./polling";

export interface History {
  times: number[]; // seconds since 1970
  hitRate: (number | null)[]; // per cent of the prompt tokens since the last sample; null without any
  tokensComputed: (number | null)[]; // per second
  ramBytes: (number | null)[];
  diskBytes: (number | null)[];
}

export interface FirstTokens {
  times: number[];
  waits: (number | null)[]; // ms
}

const kSamples = 300;

export const history = signal<History>({
  times: [],
  hitRate: [],
  tokensComputed: [],
  ramBytes: [],
  diskBytes: [],
});

interface Totals {
  at: number;
  reused: number;
  computed: number;
}

let before: Totals | null = null;

function push<T>(list: T[], value: T): T[] {
  return [...list.slice(1 - kSamples), value];
}

function addSample(): void {
  const now = metrics.value;
  if (now === null) return;
  const at = Date.now() / 1000;
  const all = total(now, "cairn_prompt_tokens_by_source_total");
  const computed = total(now, "cairn_prompt_tokens_by_source_total", 'source="computed"');
  const reused = all - computed;
  const past = before;
  before = { at, reused, computed };
  if (past === null || computed < past.computed || at <= past.at) return;
  const [reusedNow, computedNow] = [reused - past.reused, computed - past.computed];
  const seen = reusedNow + computedNow;
  const old = history.peek();
  const told = cache.peek();
  const tiers = told === null || told === "absent" ? null : told.tiers;
  history.value = {
    times: push(old.times, at),
    hitRate: push(old.hitRate, seen > 0 ? (100 * reusedNow) / seen : null),
    tokensComputed: push(old.tokensComputed, computedNow / (at - past.at)),
    ramBytes: push(old.ramBytes, tiers?.ram.bytes ?? total(now, "cairn_cache_bytes")),
    diskBytes: push(old.diskBytes, tiers === null ? total(now, "cairn_disk_bytes") : (tiers.disk?.bytes ?? null)),
  };
}

effect(addSample);

// Time to first token of the listed requests.
export function firstTokens(): FirstTokens {
  const told = requests.value;
  const list = told === null || told === "absent" ? [] : told;
  const begun = list.filter((request) => request.prompt_ms !== undefined).reverse();
  return {
    times: begun.map((request) => request.begun),
    waits: begun.map((request) => (request.queue_ms ?? 0) + (request.prompt_ms ?? 0)),
  };
}
