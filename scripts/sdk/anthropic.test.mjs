// Anthropic's client against Cairn.

import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";

import { png } from "./picture.mjs";
import {
  encodedPictures,
  generatedTokens,
  key,
  question,
  slotsComeFree,
  tooLong,
  url,
  weather,
} from "./server.mjs";

const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
const ask = { model: "m", max_tokens: 8, messages: question, temperature: 0 };
// More than the aborted answers get to; less than the context.
const endless = 7000;
const tools = [
  { name: weather.name, description: weather.description, input_schema: weather.schema },
];

const textOf = (message) =>
  message.content.map((block) => (block.type === "text" ? block.text : "")).join("");

test("a message is answered", async () => {
  const message = await client.messages.create(ask);
  assert.equal(message.role, "assistant");
  assert.equal(message.stop_reason, "max_tokens");
  assert.equal(message.usage.output_tokens, 8);
  assert.ok(textOf(message).length > 0);
});

test("a stream has the same text", async () => {
  const whole = await client.messages.create(ask);
  const types = [];
  let text = "";
  for await (const event of await client.messages.create({ ...ask, stream: true })) {
    types.push(event.type);
    if (event.type === "content_block_delta") text += event.delta.text;
  }
  assert.equal(text, textOf(whole));
  assert.equal(types[0], "message_start");
  assert.equal(types.at(-1), "message_stop");
});

test("the stream helper puts the same message together", async () => {
  const whole = await client.messages.create(ask);
  const streamed = await client.messages.stream(ask).finalMessage();
  assert.equal(textOf(streamed), textOf(whole));
  assert.equal(streamed.stop_reason, "max_tokens");
  assert.equal(streamed.usage.output_tokens, 8);
});

test("pictures of a question and of a tool's result are encoded once", async () => {
  const before = await encodedPictures();
  const image = (seed) => ({
    type: "image",
    source: { type: "base64", media_type: "image/png", data: png(seed) },
  });
  const messages = [
    { role: "user", content: [image(4), { type: "text", text: "Is the other one alike?" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "weather", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: [image(5)] }] },
  ];
  const first = await client.messages.create({ ...ask, tools, messages });
  const second = await client.messages.create({
    ...ask,
    tools,
    messages: [
      ...messages,
      { role: "assistant", content: first.content },
      { role: "user", content: "Sure?" },
    ],
  });
  const sent = (usage) =>
    usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  assert.ok(second.usage.cache_read_input_tokens >= sent(first.usage) - 64);
  assert.equal((await encodedPictures()) - before, 2);
});

test("an answer that explains itself is an answer like others", async () => {
  const asked = { ...ask, cairn: { explain: true } };
  const whole = await client.messages.create(asked);
  assert.equal(whole.cairn.prompt_tokens, whole.cairn.reused_tokens + whole.cairn.computed_tokens);
  const stream = client.messages.stream(asked);
  let told;
  stream.on("streamEvent", (event) => {
    if (event.type === "message_delta") told = event.cairn;
  });
  assert.equal(textOf(await stream.finalMessage()), textOf(whole));
  assert.equal(told.prompt_tokens, whole.cairn.prompt_tokens);
});

test("a conversation reads its own prefix from the cache", async () => {
  const system = "You are terse. ".repeat(40);
  const first = await client.messages.create({ ...ask, system });
  const second = await client.messages.create({
    ...ask,
    system,
    messages: [
      ...question,
      { role: "assistant", content: first.content },
      { role: "user", content: "Go on." },
    ],
  });
  assert.ok(second.usage.cache_read_input_tokens > 500);
});

test("a last message of the assistant is a prefill", async () => {
  const messages = [...question, { role: "assistant", content: "A cairn is" }];
  const message = await client.messages.create({ ...ask, messages });
  assert.equal(message.usage.output_tokens, 8);
  const all = ({ usage }) =>
    usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  const without = await client.messages.create(ask);
  const closed = await client.messages.create({
    ...ask,
    messages: [...messages, { role: "user", content: "" }],
  });
  assert.ok(all(message) > all(without));
  assert.ok(all(message) < all(closed) - 10);
});

test("marks of cache_control are taken", async () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const message = await client.messages.create({
    ...ask,
    system: [{ type: "text", text: "You are terse.", ...mark }],
    tools: tools.map((tool) => ({ ...tool, ...mark })),
    messages: [{ role: "user", content: [{ type: "text", text: "Hi.", ...mark }] }],
  });
  assert.equal(message.type, "message");
});

test("a call and its result can be gone on from", async () => {
  const message = await client.messages.create({
    ...ask,
    tools,
    messages: [
      ...question,
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "t1", name: "weather", input: { city: "Rome" } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "sunny" }] },
    ],
  });
  assert.equal(message.usage.output_tokens, 8);
});

// A random model would never end a text, or a row of calls, by itself.
test("a call can be demanded", async () => {
  const city = { enum: ["Rome", "Oslo"] };
  const chosen = [
    {
      name: "weather",
      input_schema: { type: "object", properties: { city }, required: ["city"] },
    },
  ];
  const choice = { type: "any", disable_parallel_tool_use: true };
  const asked = { ...ask, max_tokens: 400, tools: chosen, tool_choice: choice };
  const message = await client.messages.create(asked);
  const call = message.content.find((block) => block.type === "tool_use");
  assert.equal(call.name, "weather");
  assert.ok(city.enum.includes(call.input.city));
  assert.equal(message.stop_reason, "tool_use");
  const streamed = await client.messages.stream(asked).finalMessage();
  const names = streamed.content.filter((block) => block.type === "tool_use").map((b) => b.name);
  assert.ok(names.includes("weather"));
});

test("tokens are counted as they are read", async () => {
  const asked = { model: "m", messages: question, tools };
  const counted = await client.messages.countTokens(asked);
  const usage = (await client.messages.create({ ...ask, ...asked })).usage;
  assert.equal(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens);
});

test("errors are of the client's types", async () => {
  await assert.rejects(client.messages.create({ ...ask, temperature: "warm" }), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.equal(error.error.type, "error");
    assert.equal(error.error.error.type, "invalid_request_error");
    assert.match(error.message, /temperature/);
    return true;
  });
  await assert.rejects(client.messages.create({ ...ask, messages: tooLong }), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.match(error.message, /prompt is too long: \d+ tokens > \d+ maximum/);
    return true;
  });
  const stranger = new Anthropic({ baseURL: url, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.messages.create(ask), Anthropic.AuthenticationError);
});

test("a stream that is aborted frees its slot", async () => {
  const before = await generatedTokens();
  const stream = await client.messages.create({ ...ask, max_tokens: endless, stream: true });
  let events = 0;
  for await (const event of stream) {
    assert.ok(event.type.length > 0);
    if (++events === 4) stream.controller.abort();
  }
  assert.ok(await slotsComeFree());
  assert.ok((await generatedTokens()) - before < endless);
  const next = await client.messages.create(ask);
  assert.equal(next.usage.output_tokens, 8);
});
