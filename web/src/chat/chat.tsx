import { useEffect, useRef } from "preact/hooks";
import { openChat } from "../state/chats";
import { talking } from "../state/talk";
import { Answer } from "./answer";
import { ChatList } from "./chat_list";
import { Composer } from "./composer";
import { Question } from "./question";
import { System } from "./system";

// Keeps the end in sight while an answer grows, unless the reader has gone up.
function useFollow(of: unknown) {
  const list = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const box = list.current;
    if (box !== null && follows.current) box.scrollTop = box.scrollHeight;
  }, [of]);
  const onScroll = () => {
    const box = list.current;
    if (box === null) return;
    follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  };
  return { list, onScroll };
}

function Empty() {
  return (
    <p class="empty">
      Send a message, then look at the prompt: the first turn is prefilled, the next one continues
      from there. Edit an early message to see what is prefilled again, and why.
    </p>
  );
}

export function Chat() {
  const chat = openChat.value;
  const { list, onScroll } = useFollow(chat.turns);
  const busy = talking.value?.chat === chat.id;
  return (
    <section class="talk" aria-label="Chat">
      <ChatList />
      <div
        class="turns"
        ref={list}
        onScroll={onScroll}
        role="log"
        aria-label="Conversation"
        aria-busy={busy}
        tabIndex={0}
      >
        <System />
        {chat.turns.length === 0 && <Empty />}
        {chat.turns.map((turn, index) =>
          turn.role === "user" ? (
            <Question key={`${chat.id}-${index}`} turn={turn} index={index} />
          ) : (
            <Answer key={`${chat.id}-${index}`} turn={turn} index={index} />
          ),
        )}
      </div>
      <p class="unseen" role="status">
        {busy ? "The model answers." : chat.turns.at(-1)?.state === "done" ? "The answer is complete." : ""}
      </p>
      <Composer />
    </section>
  );
}
