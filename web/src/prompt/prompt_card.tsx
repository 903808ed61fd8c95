// The prompt of one answer: its bar, its messages, and why not all of it was reused.
import { useSignal } from "@preact/signals";
import { number, percent } from "../parts/words";
import { prompt } from "../state/prompt";
import { tree } from "../state/polling";
import { Bar, Legend } from "./bar";
import { MediaList } from "./media_list";
import { MessageRows } from "./message_rows";
import { stretches, spans } from "./stretches";
import { checkpointsOn } from "./checkpoints";
import { Prefetch } from "./prefetch";
import { Why } from "./why";

export function PromptCard() {
  const marked = useSignal<number | null>(null);
  const shown = prompt.value;
  if (shown === null) return <p class="dim">No prompt yet. Send a message to see one.</p>;
  const { reuse, messages } = shown;
  const all = spans(reuse);
  const total = reuse?.prompt_tokens ?? 0;
  const cut = stretches(all, reuse);
  const told = tree.value;
  const checkpoints = told === null || told === "absent" ? [] : checkpointsOn(told, messages, total);
  return (
    <>
      <p class="headline">
        {reuse === null
          ? "Prefill …"
          : `${number(reuse.prompt_tokens)} tokens, ${number(reuse.computed_tokens)} of them prefilled: ` +
            `${percent(reuse.reused_tokens, reuse.prompt_tokens)} reused`}
      </p>
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
