import { chosenModel, isLoaded } from "../state/models";
import { cache, tree, treeIsCut } from "../state/polling";
import { ModelsKept } from "./models_kept";
import { Tiers } from "./tiers";
import { Tree } from "./tree";

export function CacheCard() {
  const state = cache.value;
  const nodes = tree.value;
  if (state === "absent" && nodes === "absent") {
    return <p class="dim">This server does not show its cache (/cairn/cache).</p>;
  }
  return (
    <>
      <ModelsKept />
      {state !== null && state !== "absent" && <Tiers of={state} />}
      {nodes === null && (
        <p class="dim">
          {isLoaded.value ? "Loading …" : `${chosenModel.value} is not loaded; what it keeps is on disk.`}
        </p>
      )}
      {nodes === "absent" && <p class="dim">This server does not show the tree of its cache.</p>}
      {nodes !== null && nodes !== "absent" && <Tree nodes={nodes} cut={treeIsCut.value} />}
    </>
  );
}
