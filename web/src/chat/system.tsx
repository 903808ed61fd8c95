import { openChat } from "../state/chats";
import { setSystem, setTokensMax, tokensMax } from "../state/talk";

export function System() {
  const system = openChat.value.system;
  return (
    <details class="system" open={system !== "" ? true : undefined}>
      <summary>System message and limits</summary>
      <label for="system">System message, before all others: a change invalidates the whole prefix</label>
      <textarea
        id="system"
        rows={2}
        value={system}
        onChange={(event) => setSystem(event.currentTarget.value)}
      />
      <label for="tokens-max">Maximum tokens per answer (0: the server's default)</label>
      <input
        id="tokens-max"
        type="number"
        min="0"
        value={tokensMax.value}
        onChange={(event) => setTokensMax(Number(event.currentTarget.value))}
      />
    </details>
  );
}
