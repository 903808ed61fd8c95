// The tree of checkpoints, laid out for reading: nodes that follow each other without a fork stand
// one below the other; a fork begins a level.
import type { TreeNode } from "../server/types";

export interface Branch {
  stones: TreeNode[];
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
    const stones = [first];
    let next = children.get(first.id) ?? [];
    while (next.length === 1 && next[0] !== undefined) {
      stones.push(next[0]);
      next = children.get(next[0].id) ?? [];
    }
    return { stones, forks: next.map(follow) };
  };
  return (children.get("") ?? []).map(follow);
}
