// The messages of the prompt, one per row, with the number and the sources of their tokens.
import { number } from "../parts/words";
import type { SentMessage } from "../server/types";
import { kKinds } from "./bar";
import type { Stretch, Span } from "./stretches";

interface Props {
  messages: SentMessage[];
  spans: Span[];
  stretches: Stretch[];
  divergedAt: number | undefined; // the message where the prompt diverges from the cached one
  mark: (message: number | null) => void;
}

export function sourceWords(stretches: Stretch[]): string {
  const words: string[] = [];
  for (const [kind, name] of kKinds) {
    const tokens = stretches
      .filter((stretch) => stretch.kind === kind)
      .reduce((sum, stretch) => sum + stretch.end - stretch.begin, 0);
    if (tokens > 0) words.push(`${number(tokens)} ${name}`);
  }
  return words.join(", ");
}

function Row(props: Props & { index: number }) {
  const { messages, spans, index, mark } = props;
  const message = messages[index];
  const span = spans.find((candidate) => candidate.message === index);
  if (message === undefined) return null;
  const own = props.stretches.filter((stretch) => stretch.message === index);
  return (
    <tr
      class={props.divergedAt === index ? "diverged" : ""}
      onMouseEnter={() => mark(index)}
      onMouseLeave={() => mark(null)}
    >
      <th scope="row">{message.role}</th>
      <td class="figure">{span === undefined ? "" : number(span.end - span.begin)}</td>
      <td>
        {sourceWords(own)}
        {props.divergedAt === index && <strong class="tag">diverges here</strong>}
      </td>
      <td class="excerpt">{message.content.slice(0, 80)}</td>
    </tr>
  );
}

export function MessageRows(props: Props) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="The prompt's messages">
      <table>
        <thead>
          <tr>
            <th scope="col">message</th>
            <th scope="col" class="figure">tokens</th>
            <th scope="col">source</th>
            <th scope="col">text</th>
          </tr>
        </thead>
        <tbody>
          {props.messages.map((_, index) => (
            <Row key={index} {...props} index={index} />
          ))}
        </tbody>
      </table>
    </div>
  );
}
