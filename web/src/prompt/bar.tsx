import { age, bytes, number } from "../parts/words";
import type { Medium, TreeNode } from "../server/types";
import { choose, chosenNode } from "../state/chosen";
import type { Kind, Stretch, Span } from "./stretches";

export const kKinds: [Kind, string, string][] = [
  ["reused", "reused", "still in a slot"],
  ["restored", "restored", "from memory or disk"],
  ["prefetched", "prefetched", "prefilled while idle"],
  ["computed", "prefilled", "for this answer"],
];

function percent(tokens: number, total: number): string {
  return `${(100 * tokens) / Math.max(1, total)}%`;
}

export function place(begin: number, end: number, total: number) {
  return { left: percent(begin, total), width: percent(end - begin, total) };
}

export function checkpointWords(node: TreeNode): string {
  const old = node.age_ms === undefined ? "" : `, ${age(node.age_ms)} old`;
  const pinned = node.pinned ? ", pinned" : "";
  return `${node.class} at ${number(node.position)}, ${node.tier}, ${bytes(node.bytes)}${old}${pinned}`;
}

function Marker(props: { node: TreeNode; total: number }) {
  const { node, total } = props;
  const words = `Checkpoint: ${checkpointWords(node)}`;
  return (
    <button
      type="button"
      class={`checkpoint ${node.tier} ${node.pinned ? "pinned" : ""}`}
      style={{ left: percent(node.position, total) }}
      aria-label={words}
      aria-pressed={chosenNode.value === node.id}
      title={words}
      onClick={() => choose(node.id)}
    />
  );
}

interface Props {
  stretches: Stretch[];
  spans: Span[];
  media: Medium[];
  checkpoints: TreeNode[];
  total: number;
  marked: number | null; // a message
  used: { position: number; class: string } | undefined; // the checkpoint that the prompt was resumed from
}

function label(stretches: Stretch[], total: number): string {
  const sums = kKinds.map(([kind, name]) => {
    const sum = stretches.filter((p) => p.kind === kind).reduce((a, p) => a + p.end - p.begin, 0);
    return sum > 0 ? `${number(sum)} ${name}` : "";
  });
  if (total === 0) return "not known yet";
  return `${number(total)} tokens: ${sums.filter((text) => text !== "").join(", ")}`;
}

export function Bar({ stretches, spans, media, checkpoints, total, marked, used }: Props) {
  return (
    <div class="barbox">
      <div class="checkpoints">
        {checkpoints.map((node) => (
          <Marker key={node.id} node={node} total={total} />
        ))}
        {used !== undefined && (
          <span
            class="used"
            style={{ left: percent(used.position, total) }}
            title={`Resumed from the checkpoint at ${number(used.position)} (${used.class})`}
          />
        )}
      </div>
      <div class="tokens" role="img" aria-label={label(stretches, total)}>
        {stretches.map((stretch) => (
          <span
            key={stretch.begin}
            class={`stretch ${stretch.kind}`}
            style={place(stretch.begin, stretch.end, total)}
          />
        ))}
        {spans.map((span) => (
          <span
            key={span.message}
            class={`edge ${marked === span.message ? "marked" : ""}`}
            style={place(span.begin, span.end, total)}
          />
        ))}
        {media.map((medium) => (
          <span
            key={medium.begin}
            class="medium"
            style={place(medium.begin, medium.end, total)}
            title={`${medium.kind} at ${medium.part}`}
          />
        ))}
      </div>
    </div>
  );
}

export function Legend() {
  return (
    <ul class="legend">
      {kKinds.map(([kind, name, words]) => (
        <li key={kind}>
          <span class={`swatch ${kind}`} /> {name} <span class="dim">{words}</span>
        </li>
      ))}
    </ul>
  );
}
