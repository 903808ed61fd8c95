// Reads a conversation before anyone asks, by a click.
import { useSignal } from "@preact/signals";
import { type Warmed, warmedWords } from "../cache/warmed";
import { json } from "../server/call";
import { messagesBefore, openChat } from "../state/chats";
import { cache, refresh } from "../state/polling";
import { talking } from "../state/talk";

export function Warm() {
  const said = useSignal("");
  const chat = openChat.value;
  const absent = cache.value === "absent" || cache.value === null;
  const messages = messagesBefore(chat, chat.turns.length);
  if (absent || messages.length === 0) return null;
  const warm = async () => {
    said.value = "Reading …";
    try {
      const warmed = await json<Warmed>("POST", "/cairn/cache/warm", { messages });
      said.value = warmedWords(warmed);
    } catch (error) {
      said.value = error instanceof Error ? error.message : String(error);
    }
    void refresh();
  };
  return (
    <p class="warm">
      <button type="button" disabled={talking.value !== null} onClick={() => void warm()}>
        Warm this conversation
      </button>{" "}
      <span role="status">{said.value}</span>
    </p>
  );
}
