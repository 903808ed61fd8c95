import { useEffect, useRef } from "preact/hooks";
import { age, bytes, number } from "../parts/words";
import type { TreeNode } from "../server/types";
import { chosenNode } from "../state/chosen";
import { branches, type Branch } from "./branches";
import { NodeDetail } from "./node_detail";

function Node(props: { node: TreeNode }) {
  const { node } = props;
  const row = useRef<HTMLLIElement>(null);
  const chosen = chosenNode.value === node.id;
  useEffect(() => {
    if (chosen) row.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <li ref={row}>
      <button
        type="button"
        class="node"
        aria-expanded={chosen}
        onClick={() => (chosenNode.value = chosen ? null : node.id)}
      >
        <span class={`pebble ${node.tier} ${node.pinned ? "pinned" : ""}`} aria-hidden="true" />
        <span class="position">{number(node.position)}</span>
        <span class="class">{node.class}</span>
        <span class="dim">
          {node.tier}, {bytes(node.bytes)}
          {node.age_ms === undefined ? "" : `, ${age(node.age_ms)}`}
          {node.pinned ? ", pinned" : ""}
        </span>
        <span class="excerpt">{node.text}</span>
      </button>
      {chosen && <NodeDetail node={node} />}
    </li>
  );
}

function Branches(props: { of: Branch[] }) {
  return (
    <ul class="branches">
      {props.of.map((branch) => (
        <li key={branch.nodes[0]?.id} class="branch">
          <ul class="path">
            {branch.nodes.map((node) => (
              <Node key={node.id} node={node} />
            ))}
          </ul>
          {branch.forks.length > 0 && <Branches of={branch.forks} />}
        </li>
      ))}
    </ul>
  );
}

export function Tree(props: { nodes: TreeNode[]; cut: boolean }) {
  if (props.nodes.length === 0) return <p class="dim">The cache is empty.</p>;
  return (
    <div class="scroll tree" tabIndex={0} role="region" aria-label="Tree of conversations">
      <Branches of={branches(props.nodes)} />
      {props.cut && <p class="dim">There are more; only the first are shown.</p>}
    </div>
  );
}
