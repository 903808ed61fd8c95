// What each client's prompts cost over the last day, and what would cure it.
import { clock, number } from "../parts/words";
import type { DiagnosedClient, DiagnosedCause } from "../server/types";
import { diagnoses } from "../state/polling";

function minutes(value: number): string {
  return value < 0.1 ? "less than 0.1 min" : `${value.toFixed(value < 10 ? 1 : 0)} min`;
}

function Cause({ cause }: { cause: DiagnosedCause }) {
  const { example } = cause;
  const excerpts = example.stored_excerpt !== undefined || example.prompt_excerpt !== undefined;
  return (
    <li>
      <strong>{cause.sentence}</strong>{" "}
      <span class="dim">
        {number(cause.requests)} requests, {number(cause.tokens)} tokens, {minutes(cause.minutes)}, since{" "}
        {clock(cause.since)}
      </span>
      <p class="advice">{cause.cure}</p>
      {example.sentence !== undefined && <p class="dim">{example.sentence}</p>}
      {excerpts && (
        <dl class="excerpts">
          <dt>stored</dt>
          <dd>{example.stored_excerpt}</dd>
          <dt>sent</dt>
          <dd>{example.prompt_excerpt}</dd>
        </dl>
      )}
    </li>
  );
}

function Client({ client }: { client: DiagnosedClient }) {
  return (
    <article>
      <h3>{client.agent === "" ? "A client without a name" : client.agent}</h3>
      <p>
        {number(client.prompt_tokens)} tokens sent, {number(client.reused_tokens)} reused,{" "}
        {number(client.prefilled_tokens)} prefilled: {number(client.unavoidable_tokens)} unavoidable,{" "}
        {number(client.avoidable_tokens)} avoidable ({minutes(client.avoidable_minutes)})
      </p>
      {client.causes.length === 0 ? (
        <p class="dim">Nothing to cure.</p>
      ) : (
        <ol class="causes">
          {client.causes.map((cause) => (
            <Cause key={cause.cause} cause={cause} />
          ))}
        </ol>
      )}
    </article>
  );
}

export function Doctor() {
  const told = diagnoses.value;
  if (told === "absent") return <p class="dim">This server has no doctor.</p>;
  if (told === null || told.length === 0) return <p class="dim">No requests in the last day.</p>;
  return (
    <>
      {told.map((client) => (
        <Client key={client.agent + client.model} client={client} />
      ))}
    </>
  );
}
