// One checkpoint, with buttons to prefetch, pin and drop it.
import { useSignal } from "@preact/signals";
import { number } from "../parts/words";
import { callModel, modelJson } from "../server/call";
import type { TreeNode } from "../server/types";
import { chosenNode } from "../state/chosen";
import { refresh } from "../state/polling";
import { type Prefetched, prefetchedWords } from "./prefetched";

export function NodeDetail(props: { node: TreeNode }) {
  const { node } = props;
  const trouble = useSignal("");
  const said = useSignal("");
  const prefetching = useSignal(false);
  const change = async (method: string, body?: unknown) => {
    try {
      await callModel(method, `/cairn/cache/checkpoints/${encodeURIComponent(node.id)}`, body);
      trouble.value = "";
      if (method === "DELETE") chosenNode.value = null;
    } catch (error) {
      trouble.value = error instanceof Error ? error.message : String(error);
    }
    void refresh();
  };
  const prefetch = async () => {
    prefetching.value = true;
    trouble.value = "";
    said.value = "Prefetching …";
    try {
      said.value = prefetchedWords(
        await modelJson<Prefetched>("POST", "/cairn/cache/prefetch", { checkpoint: node.id }),
      );
    } catch (error) {
      said.value = "";
      trouble.value = error instanceof Error ? error.message : String(error);
    }
    prefetching.value = false;
    void refresh();
  };
  return (
    <div class="detail">
      {node.text !== undefined && <p class="stored">{node.text}</p>}
      <p class="dim">Used {number(node.uses)} times.</p>
      <div class="actions">
        <button
          type="button"
          title="Restore this checkpoint into a slot before a request needs it"
          aria-disabled={prefetching.value}
          onClick={() => {
            if (!prefetching.value) void prefetch();
          }}
        >
          Prefetch
        </button>
        <button
          type="button"
          aria-pressed={node.pinned}
          onClick={() => void change("POST", { pinned: !node.pinned })}
        >
          {node.pinned ? "Unpin" : "Pin"}
        </button>
        <button type="button" onClick={() => void change("DELETE")}>
          Drop
        </button>
      </div>
      <p role="status">{said.value}</p>
      <p class="trouble" role="status">
        {trouble.value}
      </p>
    </div>
  );
}
