// One turn with Ollama's package for JavaScript, over POST /api/chat. `ollama_turn.mjs URL MODEL
// FILE QUESTION` goes on with the conversation in FILE, if there is one, prints the answer and keeps
// the conversation.

import { execSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Ollama } from "ollama";

const [url, , file, question] = process.argv.slice(2);

// As long as a prompt that somebody works with.
const rules = Array.from({ length: 120 }, (_, at) =>
  `Rule ${at + 1}: put every stone back where it lay, and count to ${(at + 1) ** 2}.`).join(" ");

const tools = [{
  type: "function",
  function: {
    name: "run_command",
    description: "Runs a shell command and gives what it prints.",
    parameters: {
      type: "object", properties: { command: { type: "string" } }, required: ["command"],
    },
  },
}];

const client = new Ollama({ host: url });
// Ollama's clients choose from what there is.
const model = (await client.list()).models[0].model;
const messages = existsSync(file) ? JSON.parse(readFileSync(file, "utf8"))
  : [{ role: "system", content: rules }];
messages.push({ role: "user", content: question });
for (let step = 0; step < 5; ++step) {
  const message = { role: "assistant", content: "", thinking: "", tool_calls: [] };
  for await (const part of await client.chat({ model, messages, tools, stream: true })) {
    message.content += part.message.content ?? "";
    message.thinking += part.message.thinking ?? "";
    message.tool_calls.push(...(part.message.tool_calls ?? []));
  }
  messages.push(message);
  if (message.tool_calls.length === 0) break;
  for (const call of message.tool_calls) {
    const output = execSync(call.function.arguments.command, { encoding: "utf8" });
    messages.push({ role: "tool", tool_name: call.function.name, content: output });
  }
}
writeFileSync(file, JSON.stringify(messages));
console.log(messages.at(-1).content);
