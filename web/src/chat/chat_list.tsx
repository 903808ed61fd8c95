import { chats, forgetChat, openChat, openId, startChat, titleOf } from "../state/chats";
import { shownAnswer } from "../state/prompt";
import { talking } from "../state/talk";

function open(id: string): void {
  openId.value = id;
  shownAnswer.value = null;
}

export function ChatList() {
  const chat = openChat.value;
  return (
    <div class="chats">
      <label class="unseen" for="chats">
        Conversation
      </label>
      <select id="chats" value={chat.id} onChange={(event) => open(event.currentTarget.value)}>
        {chats.value.map((one) => (
          <option key={one.id} value={one.id}>
            {titleOf(one)}
          </option>
        ))}
      </select>
      <button type="button" onClick={startChat}>
        New
      </button>
      <button
        type="button"
        class="quiet"
        disabled={talking.value !== null || chat.turns.length === 0}
        onClick={() => forgetChat(chat.id)}
      >
        Delete
      </button>
    </div>
  );
}
