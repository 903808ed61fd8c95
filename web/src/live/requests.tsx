// The last requests of the server, newest first, each with its reuse, its explanation and its
// images and recordings.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { clock, milliseconds, number } from "../parts/words";
import { modelJson } from "../server/call";
import type { Reuse, ServedRequest } from "../server/types";
import { requests } from "../state/polling";
import { Bar, place } from "../prompt/bar";
import { MediaList } from "../prompt/media_list";
import { spans, stretches } from "../prompt/stretches";
import { pathWords } from "../prompt/why";

function Split(props: { request: ServedRequest }) {
  const reuse = props.request.reuse;
  if (reuse === undefined || reuse.prompt_tokens === 0) return null;
  return (
    <span class="split" aria-hidden="true">
      {stretches([], reuse).map((stretch) => (
        <span
          key={stretch.begin}
          class={`stretch ${stretch.kind}`}
          style={place(stretch.begin, stretch.end, reuse.prompt_tokens)}
        />
      ))}
    </span>
  );
}

function figures(request: ServedRequest): string {
  const parts: string[] = [];
  const reuse = request.reuse;
  if (request.status !== undefined) parts.push(String(request.status));
  if (reuse !== undefined) {
    parts.push(`${number(reuse.reused_tokens)} reused, ${number(reuse.computed_tokens)} prefilled`);
  }
  if (request.queue_ms !== undefined && request.queue_ms >= 1) {
    parts.push(`queued ${milliseconds(request.queue_ms)}`);
  }
  if (request.prompt_ms !== undefined) parts.push(`first token after ${milliseconds(request.prompt_ms)}`);
  if (request.generated_tokens !== undefined) {
    const time = request.generated_ms === undefined ? "" : ` in ${milliseconds(request.generated_ms)}`;
    parts.push(`${number(request.generated_tokens)} generated${time}`);
  }
  if (request.drafted_tokens !== undefined) {
    const accepted = number(request.accepted_tokens ?? 0);
    parts.push(`${accepted} of ${number(request.drafted_tokens)} drafted tokens accepted`);
  }
  return parts.join(" · ");
}

// The prompt of a request that was opened. The list leaves its messages out.
function OpenedPrompt(props: { request: ServedRequest }) {
  const told = useSignal<Reuse | null>(null);
  const { id, reuse } = props.request;
  const known = reuse !== undefined;
  useEffect(() => {
    let wanted = true;
    const show = (request: ServedRequest) => {
      if (wanted) told.value = request.reuse ?? null;
    };
    // It may have left the server's list meanwhile; then the item shows what it has.
    if (known) modelJson<ServedRequest>("GET", `/cairn/requests/${id}`).then(show, () => {});
    return () => {
      wanted = false;
    };
  }, [id, known]);
  const shown = told.value;
  if (shown === null || shown.prompt_tokens === 0) return null;
  const media = shown.media ?? [];
  const messages = spans(shown);
  const all = stretches(messages, shown);
  return (
    <>
      <Bar
        stretches={all}
        spans={messages}
        media={media}
        checkpoints={[]}
        total={shown.prompt_tokens}
        marked={null}
        used={shown.checkpoint}
      />
      <MediaList media={media} stretches={all} />
    </>
  );
}

function Item(props: { request: ServedRequest }) {
  const { request } = props;
  const opened = useSignal(false);
  const why = request.reuse?.explanation;
  return (
    <li>
      <details onToggle={(event) => (opened.value = event.currentTarget.open)}>
        <summary>
          <span class="time">{clock(request.begun)}</span>
          <span class={`state ${request.state}`}>{request.state}</span>
          <span>{figures(request)}</span>
          <Split request={request} />
        </summary>
        {request.message !== undefined && <p class="sentence">{request.message}</p>}
        {why !== undefined && <p class="sentence">{why.sentence}</p>}
        {why?.advice !== undefined && <p class="advice">{why.advice}</p>}
        {request.reuse !== undefined && <p class="dim">Resume path: {pathWords(request.reuse)}.</p>}
        {opened.value && <OpenedPrompt request={request} />}
        <p class="dim">
          {request.method} {request.api}, {request.id}
        </p>
      </details>
    </li>
  );
}

export function Requests() {
  const told = requests.value;
  if (told === "absent") {
    return <p class="dim">This server has no list of requests (/cairn/requests).</p>;
  }
  if (told === null) return <p class="dim">Loading …</p>;
  if (told.length === 0) return <p class="dim">No requests yet.</p>;
  return (
    <ol class="asked">
      {told.map((request) => (
        <Item key={request.id} request={request} />
      ))}
    </ol>
  );
}
