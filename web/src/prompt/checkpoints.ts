// The checkpoints on the shown prompt. The tree does not say which conversation a checkpoint belongs
// to, only how the text between two checkpoints begins. So the path is taken whose texts all occur in
// the prompt; among several, the most recently used one.
import type { SentMessage, TreeNode } from "../server/types";

function pathTo(leaf: TreeNode, byId: ReadonlyMap<string, TreeNode>): TreeNode[] {
  const path: TreeNode[] = [];
  for (let node: TreeNode | undefined = leaf; node !== undefined; ) {
    path.unshift(node);
    node = node.parent === null ? undefined : byId.get(node.parent);
  }
  return path;
}

const kWordsMin = 4; // shorter texts stand anywhere

// The parts of a text that a message wrote, without the template's own marks around them.
function written(text: string): string[] {
  return text
    .replace(/^(?:system|user|assistant|model|tool)\n/, "") // a checkpoint lies before the role
    .replace(/…/g, "\n")
    .replace(/<[|/]?\w*[|/]?$/, "") // a mark that was cut
    .split(/<[|/]?\w+[|/]?>(?:system|user|assistant|model|tool|\w+$)?|\n/)
    .map((part) => part.trim())
    .filter((part) => part.length >= kWordsMin);
}

// How many parts of the path's texts stand in the prompt; -1: not all do.
function agreement(path: TreeNode[], prompt: string): number {
  const parts = path.flatMap((node) => written(node.text ?? ""));
  return parts.every((part) => prompt.includes(part)) ? parts.length : -1;
}

export function checkpointsOn(nodes: TreeNode[], messages: SentMessage[], tokens: number): TreeNode[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const inside = nodes.filter((node) => node.position > 0 && node.position <= tokens);
  const prompt = messages
    .map((message) => `${message.reasoning_content ?? ""}\n${message.content}`)
    .join("\n");
  let best: { path: TreeNode[]; found: number; age: number } | null = null;
  for (const node of inside) {
    const path = pathTo(node, byId);
    const found = agreement(path, prompt);
    const age = node.age_ms ?? 0;
    const better =
      best === null ||
      found > best.found ||
      (found === best.found && (age < best.age || (age === best.age && path.length > best.path.length)));
    if (better && found > 0) best = { path, found, age };
  }
  return best?.path.filter((node) => node.position > 0 && node.class !== "") ?? [];
}
