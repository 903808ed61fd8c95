// A button that prefetches the open conversation.
import { useSignal } from "@preact/signals";
import { type Prefetched, prefetchedWords } from "../cache/prefetched";
import { modelJson } from "../server/call";
import { messagesBefore, openChat } from "../state/chats";
import { cache, refresh } from "../state/polling";
import { talking } from "../state/talk";

export function Prefetch() {
  const said = useSignal("");
  const chat = openChat.value;
  const absent = cache.value === "absent" || cache.value === null;
  const messages = messagesBefore(chat, chat.turns.length);
  if (absent || messages.length === 0) return null;
  const prefetch = async () => {
    said.value = "Prefetching …";
    try {
      const prefetched = await modelJson<Prefetched>("POST", "/cairn/cache/prefetch", { messages });
      said.value = prefetchedWords(prefetched);
    } catch (error) {
      said.value = error instanceof Error ? error.message : String(error);
    }
    void refresh();
  };
  return (
    <p class="prefetch">
      <button type="button" disabled={talking.value !== null} onClick={() => void prefetch()}>
        Prefetch this conversation
      </button>{" "}
      <span role="status">{said.value}</span>
    </p>
  );
}
