// The prompt of one answer: its bar, its messages, and why it was not reused whole.
import { useSignal } from "@preact/signals";
import { number, percent } from "../parts/words";
import { prompt } from "../state/prompt";
import { tree } from "../state/polling";
import { Bar, Legend } from "./bar";
import { MessageRows } from "./message_rows";
import { stretches, spans } from "./stretches";
import { stonesOn } from "./stones";
import { Warm } from "./warm";
import { Why } from "./why";

export function PromptCard() {
  const marked = useSignal<number | null>(null);
  const shown = prompt.value;
  if (shown === null) return <p class="dim">No prompt yet. The first answer brings one.</p>;
  const { reuse, messages } = shown;
  const all = spans(reuse);
  const total = reuse?.prompt_tokens ?? 0;
  const cut = stretches(all, reuse);
  const told = tree.value;
  const stones = told === null || told === "absent" ? [] : stonesOn(told, messages, total);
  return (
    <>
      <p class="headline">
        {reuse === null
          ? "The prompt is being read …"
          : `${number(reuse.prompt_tokens)} tokens, ${number(reuse.read_tokens)} of them read: ` +
            `${percent(reuse.reused_tokens, reuse.prompt_tokens)} reused`}
      </p>
      <Bar
        stretches={cut}
        spans={all}
        stones={stones}
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
        parted={reuse?.explanation?.place?.message}
        mark={(message) => (marked.value = message)}
      />
      <Warm />
    </>
  );
}
