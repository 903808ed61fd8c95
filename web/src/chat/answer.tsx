// An answer: its reasoning, folded, its text, and the cost of its prompt.
import { useMemo } from "preact/hooks";
import { milliseconds, number } from "../parts/words";
import type { Turn } from "../state/chats";
import { prompt, shownAnswer } from "../state/prompt";
import { regenerate, talking } from "../state/talk";
import { view } from "../state/view";
import { toHtml } from "./markdown";

function Reasoning(props: { turn: Turn }) {
  const text = props.turn.reasoning;
  if (!text) return null;
  const still = props.turn.state === "answering" && props.turn.content === "";
  return (
    <details class="reasoning">
      <summary>{still ? "Reasoning …" : "Reasoning"}</summary>
      <div class="said">{text}</div>
    </details>
  );
}

function cost(turn: Turn): string {
  const parts: string[] = [];
  const reuse = turn.reuse;
  const timings = turn.timings;
  const computed = reuse?.computed_tokens ?? timings?.prompt_n;
  const reused = reuse?.reused_tokens ?? timings?.cache_n;
  if (computed !== undefined && reused !== undefined) {
    parts.push(`${number(reused)} tokens reused, ${number(computed)} prefilled`);
  }
  if (turn.firstMs !== undefined) parts.push(`first token after ${milliseconds(turn.firstMs)}`);
  if (timings !== undefined && timings.predicted_ms > 0) {
    const speed = (1000 * timings.predicted_n) / timings.predicted_ms;
    parts.push(`${number(timings.predicted_n)} tokens at ${speed.toFixed(1)} per second`);
  }
  return parts.join(" · ");
}

function Cost(props: { turn: Turn; index: number }) {
  const words = cost(props.turn);
  if (words === "") return null;
  const show = () => {
    shownAnswer.value = props.index;
    view.value = "prompt";
  };
  return (
    <button
      type="button"
      class="cost"
      aria-pressed={prompt.value?.index === props.index}
      title="Show its prompt"
      onClick={show}
    >
      {words}
    </button>
  );
}

function Text(props: { turn: Turn }) {
  const html = useMemo(() => toHtml(props.turn.content), [props.turn.content]);
  if (props.turn.state === "waiting") return <p class="waits">Prefill …</p>;
  return <div class="said text" dangerouslySetInnerHTML={{ __html: html }} />;
}

export function Answer(props: { turn: Turn; index: number }) {
  const { turn, index } = props;
  return (
    <article class="turn assistant" aria-label="The model">
      <Reasoning turn={turn} />
      <Text turn={turn} />
      {turn.state === "stopped" && <p class="note">Stopped.</p>}
      {turn.state === "failed" && <p class="note trouble">No answer: {turn.trouble}</p>}
      <div class="actions">
        <button
          type="button"
          class="quiet"
          disabled={talking.value !== null}
          onClick={() => regenerate(index)}
        >
          Regenerate
        </button>
        <Cost turn={turn} index={index} />
      </div>
    </article>
  );
}
