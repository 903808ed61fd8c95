// Asks for the API key when the server requires one.
import { useEffect, useRef } from "preact/hooks";
import { key, keyWanted, useKey } from "../state/key";

export function KeyPrompt() {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const wanted = keyWanted.value;
  useEffect(() => {
    if (wanted) dialog.current?.showModal();
    else dialog.current?.close();
  }, [wanted]);
  const submit = (event: Event) => {
    event.preventDefault();
    useKey(input.current?.value ?? "");
  };
  return (
    <dialog ref={dialog} aria-labelledby="key-title" onCancel={(event) => event.preventDefault()}>
      <form onSubmit={submit}>
        <h2 id="key-title">This server requires an API key</h2>
        <p>
          {key.value === ""
            ? "It is one of the keys given to --api-key. The page keeps it until this tab is closed."
            : "The key is not one of this server's."}
        </p>
        <label for="key">API key</label>
        <input id="key" ref={input} type="password" autocomplete="off" required />
        <button type="submit" class="main">
          Use it
        </button>
      </form>
    </dialog>
  );
}
