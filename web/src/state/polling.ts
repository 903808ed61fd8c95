// What the server tells of itself, asked again and again while somebody looks.
import { effect, signal, untracked } from "@preact/signals";
import { call, json, modelJson, ServerError } from "../server/call";
import { byModel, parseMetrics, type Metrics } from "../server/metrics";
import type { CacheState, DiagnosedClient, ListedModel, ServedRequest, TreeNode, TreePage } from "../server/types";
import { connection, returns } from "./connection";
import { key, keyWanted } from "./key";
import { chosenModel, isLoaded, models, takeModels } from "./models";

// "absent": this server has no such thing.
export type Told<T> = T | "absent" | null;

export const metrics = signal<Metrics | null>(null);
export const requests = signal<Told<ServedRequest[]>>(null);
export const diagnoses = signal<Told<DiagnosedClient[]>>(null);
export const cache = signal<Told<CacheState>>(null);
export const tree = signal<Told<TreeNode[]>>(null);
export const treeIsCut = signal(false);
export const model = signal("");
// Bytes that each loaded model of a router keeps in memory.
export const keptBytes = signal<Map<string, number>>(new Map());

const kEveryMs = 2000;
const kNodesMax = 2000;
const kNodesAtOnce = 200;
const kRequests = 50;

async function told<T>(into: { value: Told<T> }, ask: () => Promise<T>): Promise<void> {
  if (into.value === "absent") return;
  try {
    into.value = await ask();
  } catch (error) {
    if (error instanceof ServerError && error.status === 404) into.value = "absent";
  }
}

async function readTree(): Promise<TreeNode[]> {
  const nodes: TreeNode[] = [];
  let after = "";
  for (;;) {
    const page = await modelJson<TreePage>(
      "GET",
      `/cairn/cache/tree?limit=${kNodesAtOnce}${after === "" ? "" : `&after=${after}`}`,
    );
    nodes.push(...page.nodes);
    treeIsCut.value = page.more !== null && nodes.length >= kNodesMax;
    if (page.more === null || page.nodes.length === 0 || treeIsCut.value) return nodes;
    after = page.more;
  }
}

async function readMetrics(): Promise<void> {
  try {
    const text = await (await call("GET", "/metrics")).text();
    metrics.value = parseMetrics(text, chosenModel.value);
    if (models.value.length > 0) keptBytes.value = byModel(text, "cairn_cache_bytes");
  } catch {
    // The next round tells.
  }
}

async function readModel(): Promise<void> {
  try {
    const list = await json<{ data: ListedModel[] }>("GET", "/v1/models");
    takeModels(list.data);
    model.value = chosenModel.value || (list.data[0]?.id ?? "");
  } catch {
    // The connection's state says what is wrong.
  }
}

let running = false;

export async function refresh(): Promise<void> {
  if (running || keyWanted.value || connection.value !== "here" || document.hidden) return;
  running = true;
  if (model.value === "" || models.value.length > 0) await readModel();
  await readMetrics();
  // Whoever is refused here is refused everywhere.
  if (!keyWanted.value && connection.value === "here" && isLoaded.value) {
    await told(requests, async () => {
      const path = `/cairn/requests?limit=${kRequests}`;
      return (await modelJson<{ requests: ServedRequest[] }>("GET", path)).requests;
    });
    await told(diagnoses, async () => {
      return (await modelJson<{ clients: DiagnosedClient[] }>("GET", "/cairn/doctor")).clients;
    });
    await told(cache, () => modelJson<CacheState>("GET", "/cairn/cache"));
    await told(tree, readTree);
  }
  running = false;
}

export function startPolling(): void {
  // Another server may be another version, and another key or model has another cache.
  effect(() => {
    void [returns.value, key.value, keyWanted.value, chosenModel.value];
    for (const one of [requests, diagnoses, cache, tree]) one.value = null;
    model.value = "";
    untracked(() => void refresh());
  });
  window.setInterval(() => void refresh(), kEveryMs);
  document.addEventListener("visibilitychange", () => void refresh());
}
