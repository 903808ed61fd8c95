// The models of a router: which are loaded, and how much each keeps in memory.
import { useSignal } from "@preact/signals";
import { bytes } from "../parts/words";
import { call } from "../server/call";
import type { ListedModel } from "../server/types";
import { models } from "../state/models";
import { keptBytes, refresh } from "../state/polling";

function words(one: ListedModel): string {
  if (one.status.failed) return "failed";
  const kept = keptBytes.value.get(one.id);
  return one.status.value === "loaded" && kept !== undefined
    ? `loaded, keeps ${bytes(kept)} in memory`
    : one.status.value;
}

export function ModelsKept() {
  const said = useSignal("");
  if (models.value.length === 0) return null;
  const change = async (one: ListedModel, what: "load" | "unload") => {
    try {
      await call("POST", `/models/${what}`, { model: one.id });
      said.value = "";
    } catch (error) {
      said.value = error instanceof Error ? error.message : String(error);
    }
    void refresh();
  };
  return (
    <div class="models">
      <ul>
        {models.value.map((one) => {
          const what = one.status.value === "unloaded" ? "load" : "unload";
          return (
            <li key={one.id}>
              <span>{one.id}</span>
              <span class="dim" title={one.status.error ?? ""}>
                {words(one)}
                {one.pinned ? ", pinned" : ""}
              </span>
              <button
                type="button"
                aria-label={`${what === "load" ? "Load" : "Unload"} ${one.id}`}
                disabled={one.status.value === "unloading"}
                onClick={() => void change(one, what)}
              >
                {what === "load" ? "Load" : "Unload"}
              </button>
            </li>
          );
        })}
      </ul>
      <span role="status">{said.value}</span>
    </div>
  );
}
