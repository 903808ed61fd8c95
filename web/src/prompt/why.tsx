// Why a prompt was not reused whole, in the server's own words.
import type { Explanation, Reuse } from "../server/types";
import { age, bytes, milliseconds, number } from "../parts/words";

const kWays: Record<string, string> = {
  nothing: "nothing was reused",
  went_on: "went on where the last answer ended",
  cut: "cut the context back and went on",
  restored: "returned to a checkpoint",
  joined: "joined stored segments",
  forked: "forked a conversation that is in the context",
  whole: "set a whole state",
  moved: "moved what still fits",
};

function Excerpts(props: { explanation: Explanation }) {
  const { prompt_excerpt: prompt, stored_excerpt: stored } = props.explanation;
  if (prompt === undefined && stored === undefined) return null;
  return (
    <dl class="excerpts">
      <dt>this prompt</dt>
      <dd>{prompt}</dd>
      <dt>what is stored</dt>
      <dd>{stored}</dd>
    </dl>
  );
}

export function wayWords(reuse: Reuse): string {
  const parts = [kWays[reuse.way] ?? ""];
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
    return <p class="dim">This server does not explain what it did; the bar is drawn from its timings.</p>;
  }
  return (
    <div class="why">
      {why !== undefined && <p class="sentence">{why.sentence}</p>}
      {why !== undefined && <Excerpts explanation={why} />}
      {why?.advice !== undefined && <p class="advice">{why.advice}</p>}
      <p class="dim">
        How: {wayWords(reuse)}.
        {reuse.shared_tokens > 0 && ` ${number(reuse.shared_tokens)} tokens are shared with another slot.`}
      </p>
    </div>
  );
}
