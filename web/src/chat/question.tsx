// A message of the user, and its editor.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Turn } from "../state/chats";
import { edit, talking } from "../state/talk";

interface Props {
  turn: Turn;
  index: number;
}

function Editor(props: Props & { close: () => void }) {
  const text = useSignal(props.turn.content);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const submit = () => {
    if (talking.value !== null || text.value.trim() === "") return;
    props.close();
    edit(props.index, text.value);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") props.close();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <div class="editor">
      <textarea
        ref={area}
        rows={3}
        aria-label="Change the message; later messages are removed"
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div class="actions">
        <button type="button" class="main" onClick={submit}>
          Send again
        </button>
        <button type="button" onClick={props.close}>
          Cancel
        </button>
      </div>
    </div>
  );
}

export function Question(props: Props) {
  const editing = useSignal(false);
  if (editing.value) return <Editor {...props} close={() => (editing.value = false)} />;
  return (
    <article class="turn user" aria-label="You">
      <div class="said">{props.turn.content}</div>
      <div class="actions">
        <button
          type="button"
          class="quiet"
          disabled={talking.value !== null}
          onClick={() => (editing.value = true)}
        >
          Edit
        </button>
      </div>
    </article>
  );
}
