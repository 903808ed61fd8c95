// Which checkpoints lie on the prompt that is shown. The tree does not say whose they are: the path
// is taken that ends in the newest node whose texts hold the prompt's last message.
import type { SentMessage, TreeNode } from "../server/types";

function pathTo(leaf: TreeNode, byId: ReadonlyMap<string, TreeNode>): TreeNode[] {
  const path: TreeNode[] = [];
  for (let node: TreeNode | undefined = leaf; node !== undefined; ) {
    path.unshift(node);
    node = node.parent === null ? undefined : byId.get(node.parent);
  }
  return path;
}

// How many of the messages' beginnings stand in the texts of the path.
function agreement(path: TreeNode[], messages: SentMessage[]): number {
  const text = path.map((node) => node.text ?? "").join("");
  let found = 0;
  for (const { content } of messages) {
    const begin = content.trim().slice(0, 24);
    if (begin !== "" && text.includes(begin)) found += 1;
  }
  return found;
}

export function stonesOn(nodes: TreeNode[], messages: SentMessage[], tokens: number): TreeNode[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const inside = nodes.filter((node) => node.position > 0 && node.position <= tokens);
  let best: { path: TreeNode[]; found: number; age: number } | null = null;
  for (const node of inside) {
    const path = pathTo(node, byId);
    const found = agreement(path, messages);
    const age = node.age_ms ?? 0;
    const better =
      best === null ||
      found > best.found ||
      (found === best.found && (age < best.age || (age === best.age && path.length > best.path.length)));
    if (better && found > 0) best = { path, found, age };
  }
  return best?.path.filter((node) => node.position > 0 && node.class !== "") ?? [];
}
