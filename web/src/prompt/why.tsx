// Why not all of a prompt was reused, in the server's words.
import type { Explanation, Reuse } from "../server/types";
import { age, bytes, milliseconds, number } from "../parts/words";

const kPaths: Record<string, string> = {
  none: "nothing was reused",
  continued: "continued a slot from its end",
  truncated: "truncated a slot and continued it",
  restored: "restored a checkpoint",
  assembled: "assembled the KV from segments",
  forked: "forked another slot",
  full_state: "restored a full slot state",
  moved: "moved chunks from other positions",
};

function Excerpts(props: { explanation: Explanation }) {
  const { prompt_excerpt: prompt, stored_excerpt: stored } = props.explanation;
  if (prompt === undefined && stored === undefined) return null;
  return (
    <dl class="excerpts">
      <dt>this prompt</dt>
      <dd>{prompt}</dd>
      <dt>cached prompt</dt>
      <dd>{stored}</dd>
    </dl>
  );
}

export function pathWords(reuse: Reuse): string {
  const parts = [kPaths[reuse.path] ?? ""];
  const used = reuse.checkpoint;
  if (used !== undefined) {
    const old = used.age_ms === undefined ? "" : `, ${age(used.age_ms)} old`;
    parts.push(`the checkpoint at ${number(used.position)} (${used.class}${old})`);
  }
  if (reuse.restored_bytes) {
    const time = reuse.restore_ms === undefined ? "" : ` in ${milliseconds(reuse.restore_ms)}`;
    parts.push(`${bytes(reuse.restored_bytes)}${time}`);
  }
  return parts.filter((text) => text !== "").join(": ");
}

export function Why(props: { reuse: Reuse; explained: boolean }) {
  const { reuse, explained } = props;
  const why = reuse.explanation;
  if (!explained) {
    return <p class="dim">This server sends no explanations; the bar shows its timings.</p>;
  }
  return (
    <div class="why">
      {why !== undefined && <p class="sentence">{why.sentence}</p>}
      {why !== undefined && <Excerpts explanation={why} />}
      {why?.advice !== undefined && <p class="advice">{why.advice}</p>}
      <p class="dim">
        Resume path: {pathWords(reuse)}.
        {reuse.shared_tokens > 0 && ` ${number(reuse.shared_tokens)} tokens of the prompt are cached.`}
      </p>
    </div>
  );
}
