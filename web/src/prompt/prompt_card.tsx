// The prompt of one answer: its bar, its messages, and why not all of it was reused.
import { useSignal } from "@preact/signals";
import { number, percent } from "../parts/words";
import { fromProgress, prompt, type Prompt } from "../state/prompt";
import { tree } from "../state/polling";
import { Bar, Legend } from "./bar";
import { MediaList } from "./media_list";
import { MessageRows } from "./message_rows";
import { stretches, spans, within } from "./stretches";
import { checkpointsOn } from "./checkpoints";
import { Prefetch } from "./prefetch";
import { Why } from "./why";

function headline({ reuse, progress }: Prompt): string {
  if (reuse !== null) {
    return (
      `${number(reuse.prompt_tokens)} tokens, ${number(reuse.computed_tokens)} of them prefilled: ` +
      `${percent(reuse.reused_tokens, reuse.prompt_tokens)} reused`
    );
  }
  if (progress === null) return "Waiting for the server …";
  const done = `${number(progress.processed - progress.cache)} of ${number(progress.total - progress.cache)}`;
  return `Prefill: ${done} tokens; ${number(progress.cache)} of ${number(progress.total)} were reused`;
}

export function PromptCard() {
  const marked = useSignal<number | null>(null);
  const shown = prompt.value;
  if (shown === null) return <p class="dim">No prompt yet. Send a message to see one.</p>;
  const { reuse, progress, messages } = shown;
  const all = spans(reuse);
  const total = reuse?.prompt_tokens ?? progress?.total ?? 0;
  const cut =
    progress === null
      ? stretches(all, reuse)
      : within(stretches([], fromProgress(progress)), 0, progress.processed);
  const told = tree.value;
  const checkpoints = told === null || told === "absent" ? [] : checkpointsOn(told, messages, total);
  return (
    <>
      <p class="headline">{headline(shown)}</p>
      <Bar
        stretches={cut}
        spans={all}
        media={reuse?.media ?? []}
        checkpoints={checkpoints}
        total={total}
        marked={marked.value}
        used={reuse?.checkpoint}
      />
      <Legend />
      {reuse !== null && <Why reuse={reuse} explained={shown.explained} />}
      <MessageRows
        messages={messages}
        spans={all}
        stretches={cut}
        divergedAt={reuse?.explanation?.place?.message}
        mark={(message) => (marked.value = message)}
      />
      <MediaList media={reuse?.media ?? []} stretches={cut} />
      <Prefetch />
    </>
  );
}
