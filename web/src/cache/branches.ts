// The tree of checkpoints in its layout: nodes without a fork between them form a branch, one below
// the other; a fork begins a new level.
import type { TreeNode } from "../server/types";

export interface Branch {
  nodes: TreeNode[];
  forks: Branch[];
}

export function branches(nodes: TreeNode[]): Branch[] {
  const known = new Set(nodes.map((node) => node.id));
  const children = new Map<string, TreeNode[]>();
  for (const node of nodes) {
    const parent = node.parent !== null && known.has(node.parent) ? node.parent : "";
    children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  const follow = (first: TreeNode): Branch => {
    const nodes = [first];
    let next = children.get(first.id) ?? [];
    while (next.length === 1 && next[0] !== undefined) {
      nodes.push(next[0]);
      next = children.get(next[0].id) ?? [];
    }
    return { nodes, forks: next.map(follow) };
  };
  return (children.get("") ?? []).map(follow);
}
