// Whether the server is there. Every call says how it went; while the server is away, /health is
// asked until it is back.
import { signal } from "@preact/signals";

export type Connection = "here" | "away" | "loading";

export const connection = signal<Connection>("here");
// Counts the times the server has come back: what it is able to do may be another thing then.
export const returns = signal(0);

const kAskEveryMs = 1000;
let asking = false;

export function answered(): void {
  if (connection.value === "here") return;
  if (connection.value === "loading" && asking) return; // only /health knows
  connection.value = "here";
  returns.value += 1;
}

export function unreachable(): void {
  connection.value = "away";
  void askUntilBack();
}

async function askUntilBack(): Promise<void> {
  if (asking) return;
  asking = true;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, kAskEveryMs));
    const status = await fetch(new URL("health", document.baseURI))
      .then((response) => response.status)
      .catch(() => 0);
    if (status === 200) break;
    connection.value = status === 503 ? "loading" : "away";
  }
  asking = false;
  connection.value = "here";
  returns.value += 1;
}
