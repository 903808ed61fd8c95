import { useSignal } from "@preact/signals";
import { send, stop, talking } from "../state/talk";

export function Composer() {
  const text = useSignal("");
  const busy = talking.value !== null;
  const submit = () => {
    if (busy || text.value.trim() === "") return;
    send(text.value);
    text.value = "";
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && busy) stop();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label class="unseen" for="message">
        Message
      </label>
      <textarea
        id="message"
        rows={1}
        placeholder="Message (Enter sends, Shift+Enter starts a new line)"
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {busy ? (
        <button type="button" class="main" onClick={stop}>
          Stop
        </button>
      ) : (
        <button type="submit" class="main">
          Send
        </button>
      )}
    </form>
  );
}
