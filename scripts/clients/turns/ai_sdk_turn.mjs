// One turn with the AI SDK and @ai-sdk/anthropic, over POST /messages: its address stands for one
// with /v1, which people leave out. `ai_sdk_turn.mjs URL MODEL FILE QUESTION` goes on with the
// conversation in FILE, if there is one, prints the answer and keeps the conversation.

import { execSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";

const [url, model, file, question] = process.argv.slice(2);

// As long as a prompt that somebody works with.
const rules = Array.from({ length: 120 }, (_, at) =>
  `Rule ${at + 1}: put every stone back where it lay, and count to ${(at + 1) ** 2}.`).join(" ");

const runCommand = tool({
  description: "Runs a shell command and gives what it prints.",
  inputSchema: jsonSchema({
    type: "object", properties: { command: { type: "string" } }, required: ["command"],
  }),
  execute: ({ command }) => execSync(command, { encoding: "utf8" }),
});

const messages = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
messages.push({ role: "user", content: question });
const answer = await generateText({
  model: createAnthropic({ baseURL: url, apiKey: "x" })(model),
  instructions: rules,
  messages,
  tools: { run_command: runCommand },
  stopWhen: stepCountIs(5),
  maxOutputTokens: 4096,
  maxRetries: 0,
});
writeFileSync(file, JSON.stringify([...messages, ...answer.responseMessages]));
console.log(answer.text);
