// OpenAI's client against Cairn.

import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

import { png } from "./picture.mjs";
import {
  callGrammar,
  encodedPictures,
  generatedTokens,
  key,
  question,
  slotsComeFree,
  tooLong,
  url,
  weather,
} from "./server.mjs";

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const ask = { model: "m", messages: question, max_tokens: 8, temperature: 0, seed: 1 };
// More than the aborted answers get to; less than the context.
const endless = 7000;
const tools = [
  {
    type: "function",
    function: {
      name: weather.name,
      description: weather.description,
      parameters: weather.schema,
    },
  },
];

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

test("the model is listed", async () => {
  const models = await all(client.models.list());
  assert.equal(models.length, 1);
  assert.equal(models[0].object, "model");
});

test("a chat is answered", async () => {
  const answer = await client.chat.completions.create(ask);
  assert.equal(answer.choices[0].message.role, "assistant");
  assert.ok(answer.choices[0].message.content.length > 0);
  assert.equal(answer.choices[0].finish_reason, "length");
  assert.equal(answer.usage.completion_tokens, 8);
});

test("a chat's stream has the same text and its usage", async () => {
  const whole = await client.chat.completions.create(ask);
  const chunks = await all(
    await client.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(chunks.at(-1).usage.completion_tokens, 8);
});

test("the stream helper puts the same answer together", async () => {
  const whole = await client.chat.completions.create(ask);
  const streamed = await client.chat.completions.stream(ask).finalChatCompletion();
  assert.equal(streamed.choices[0].message.content, whole.choices[0].message.content);
  assert.equal(streamed.choices[0].finish_reason, "length");
});

test("a call is parsed, whole and streamed", async () => {
  const asked = { ...ask, max_tokens: 200, tools, grammar: callGrammar };
  const whole = await client.chat.completions.create(asked);
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
  for (const answer of [whole, streamed]) {
    assert.equal(answer.choices[0].finish_reason, "tool_calls");
    const call = answer.choices[0].message.tool_calls[0];
    assert.equal(call.function.name, "weather");
    assert.deepEqual(JSON.parse(call.function.arguments), { city: "Rome" });
    assert.ok(call.id.length > 0);
  }
});

test("a call that was answered can be gone on from", async () => {
  const asked = { ...ask, max_tokens: 200, tools, grammar: callGrammar };
  const first = await client.chat.completions.create(asked);
  const message = first.choices[0].message;
  const answer = await client.chat.completions.create({
    ...ask,
    tools,
    messages: [
      ...question,
      message,
      { role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny" },
    ],
  });
  assert.ok(answer.usage.prompt_tokens > first.usage.prompt_tokens);
});

// A random model would never end a text, or a row of calls, by itself.
test("a call can be demanded", async () => {
  const city = { enum: ["Rome", "Oslo"] };
  const parameters = { type: "object", properties: { city }, required: ["city"] };
  const chosen = [{ type: "function", function: { name: "weather", parameters } }];
  for (const choice of ["required", { type: "function", function: { name: "weather" } }]) {
    const answer = await client.chat.completions.create({
      ...ask,
      max_tokens: 400,
      tools: chosen,
      tool_choice: choice,
      parallel_tool_calls: false,
    });
    assert.equal(answer.choices[0].finish_reason, "tool_calls");
    const call = answer.choices[0].message.tool_calls[0].function;
    assert.equal(call.name, "weather");
    assert.ok(city.enum.includes(JSON.parse(call.arguments).city));
  }
});

test("a JSON schema is kept to", async () => {
  const schema = {
    type: "object",
    properties: { warm: { type: "boolean" }, sky: { enum: ["clear", "grey"] } },
    required: ["warm", "sky"],
    additionalProperties: false,
  };
  const answer = await client.chat.completions.create({
    ...ask,
    max_tokens: 300,
    response_format: { type: "json_schema", json_schema: { name: "w", strict: true, schema } },
  });
  const json = JSON.parse(answer.choices[0].message.content);
  assert.equal(typeof json.warm, "boolean");
  assert.ok(["clear", "grey"].includes(json.sky));
});

test("a zod schema comes back parsed", async () => {
  const shape = z.object({ warm: z.boolean(), sky: z.enum(["clear", "grey"]) });
  const answer = await client.chat.completions.parse({
    ...ask,
    max_tokens: 300,
    response_format: zodResponseFormat(shape, "weather"),
  });
  assert.deepEqual(shape.parse(answer.choices[0].message.parsed), answer.choices[0].message.parsed);
});

test("a last message of the assistant is continued, whole and streamed", async () => {
  const messages = [...question, { role: "assistant", content: "A cairn is" }];
  const asked = { ...ask, messages, continue_final_message: true, add_generation_prompt: false };
  const whole = await client.chat.completions.create(asked);
  assert.equal(whole.usage.completion_tokens, 8);
  const usual = await client.chat.completions.create({ ...ask, messages });
  assert.equal(usual.choices[0].message.content, whole.choices[0].message.content);
  assert.equal(usual.usage.prompt_tokens, whole.usage.prompt_tokens);
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
  assert.equal(streamed.choices[0].message.content, whole.choices[0].message.content);
  await assert.rejects(
    client.chat.completions.create({ ...ask, continue_final_message: true }),
    OpenAI.BadRequestError,
  );
});

// What of a next prompt is prefilled: its own message, and the end of the one before.
const newTokensMax = 150;

test("a picture is encoded once, and stays in the conversation", async () => {
  const before = await encodedPictures();
  const content = [
    { type: "image_url", image_url: { url: `data:image/png;base64,${png(1)}` } },
    { type: "text", text: "What is this?" },
  ];
  const messages = [{ role: "user", content }];
  const first = await client.chat.completions.create({ ...ask, messages });
  const second = await client.chat.completions.create({
    ...ask,
    messages: [...messages, first.choices[0].message, { role: "user", content: "Sure?" }],
  });
  const { prompt_tokens: tokens, prompt_tokens_details: details } = second.usage;
  assert.ok(tokens > first.usage.prompt_tokens);
  assert.ok(details.cached_tokens >= first.usage.prompt_tokens - 64);
  assert.ok(tokens - details.cached_tokens < newTokensMax);
  assert.equal((await encodedPictures()) - before, 1);
});

test("a response's picture is encoded once, and stays by previous_response_id", async () => {
  const before = await encodedPictures();
  const asked = { model: "m", max_output_tokens: 8, temperature: 0 };
  const content = [
    { type: "input_image", detail: "auto", image_url: `data:image/png;base64,${png(2)}` },
    { type: "input_text", text: "What is this?" },
  ];
  const first = await client.responses.create({ ...asked, input: [{ role: "user", content }] });
  const second = await client.responses.create({
    ...asked,
    input: "Sure?",
    previous_response_id: first.id,
  });
  const { input_tokens: tokens, input_tokens_details: details } = second.usage;
  assert.ok(tokens > first.usage.input_tokens);
  assert.ok(tokens - details.cached_tokens < newTokensMax);
  assert.equal((await encodedPictures()) - before, 1);
});

test("a picture stands at its marker in a text that goes on", async () => {
  const prompt = { prompt_string: "See <__media__> and", multimodal_data: [png(3)] };
  const asked = { model: "m", prompt, max_tokens: 6, temperature: 0 };
  const whole = await client.completions.create(asked);
  assert.ok(whole.usage.prompt_tokens > "See  and".length);
  assert.equal(whole.usage.completion_tokens, 6);
  await assert.rejects(
    client.completions.create({ ...asked, prompt: { ...prompt, multimodal_data: [] } }),
    OpenAI.BadRequestError,
  );
});

test("a text goes on, whole and streamed", async () => {
  const asked = { model: "m", prompt: "A cairn is", max_tokens: 6, temperature: 0 };
  const whole = await client.completions.create(asked);
  const chunks = await all(await client.completions.create({ ...asked, stream: true }));
  const text = chunks.map((chunk) => chunk.choices[0].text).join("");
  assert.equal(text, whole.choices[0].text);
  assert.equal(whole.usage.completion_tokens, 6);
});

test("a response is given, whole and streamed", async () => {
  const asked = { model: "m", input: "What is a cairn?", max_output_tokens: 8, temperature: 0 };
  const whole = await client.responses.create(asked);
  assert.equal(whole.status, "incomplete");
  assert.equal(whole.incomplete_details.reason, "max_output_tokens");
  assert.ok(whole.output_text.length > 0);
  const events = await all(await client.responses.create({ ...asked, stream: true }));
  assert.equal(events[0].type, "response.created");
  assert.equal(events.at(-1).type, "response.incomplete");
  const deltas = events.filter((event) => event.type === "response.output_text.delta");
  assert.equal(deltas.map((event) => event.delta).join(""), whole.output_text);
});

test("the stream helper puts the same response together", async () => {
  const asked = { model: "m", input: "What is a cairn?", max_output_tokens: 8, temperature: 0 };
  const whole = await client.responses.create(asked);
  const streamed = await client.responses.stream(asked).finalResponse();
  assert.equal(streamed.output_text, whole.output_text);
  assert.deepEqual(streamed.usage.output_tokens, 8);
});

test("a response that explains itself is a response like others", async () => {
  const asked = { model: "m", input: "What is a cairn?", max_output_tokens: 8, temperature: 0 };
  const whole = await client.responses.create({ ...asked, cairn: { explain: true } });
  assert.equal(whole.cairn.prompt_tokens, whole.usage.input_tokens);
  const streamed = await client.responses
    .stream({ ...asked, cairn: { explain: true } })
    .finalResponse();
  assert.equal(streamed.output_text, whole.output_text);
  assert.equal(streamed.cairn.prompt_tokens, whole.cairn.prompt_tokens);
});

const sky = {
  type: "object",
  properties: { warm: { type: "boolean" }, sky: { enum: ["clear", "grey"] } },
  required: ["warm", "sky"],
  additionalProperties: false,
};

test("a response keeps to a JSON schema, whole and streamed", async () => {
  const asked = {
    model: "m",
    input: "What is the weather?",
    max_output_tokens: 300,
    temperature: 0,
    text: { format: { type: "json_schema", name: "weather", strict: true, schema: sky } },
  };
  const whole = await client.responses.create(asked);
  const json = JSON.parse(whole.output_text);
  assert.equal(typeof json.warm, "boolean");
  assert.ok(["clear", "grey"].includes(json.sky));
  assert.equal(whole.text.format.name, "weather");
  const streamed = await client.responses.stream(asked).finalResponse();
  assert.equal(streamed.output_text, whole.output_text);
});

test("a response's zod schema comes back parsed", async () => {
  const shape = z.object({ warm: z.boolean(), sky: z.enum(["clear", "grey"]) });
  const answer = await client.responses.parse({
    model: "m",
    input: "What is the weather?",
    max_output_tokens: 300,
    temperature: 0,
    text: { format: zodTextFormat(shape, "weather") },
  });
  assert.deepEqual(shape.parse(answer.output_parsed), answer.output_parsed);
});

test("a response is continued, and prefills its own items alone", async () => {
  const long = `What is a cairn? ${"It is said to be a pile of stones. ".repeat(40)}`;
  const asked = { model: "m", max_output_tokens: 8, temperature: 0 };
  const first = await client.responses.create({ ...asked, input: long });
  assert.equal(first.store, true);
  const second = await client.responses
    .stream({ ...asked, input: "Go on.", previous_response_id: first.id })
    .finalResponse();
  assert.equal(second.previous_response_id, first.id);
  const { input_tokens: all, input_tokens_details: details } = second.usage;
  assert.ok(all > first.usage.input_tokens);
  assert.ok(all - details.cached_tokens < 100, `${all} tokens, ${details.cached_tokens} cached`);
  const third = await client.responses.create({
    ...asked,
    input: "And on.",
    previous_response_id: second.id,
  });
  assert.ok(third.usage.input_tokens > all);
});

test("a call in a response is answered by previous_response_id", async () => {
  const city = { enum: ["Rome", "Oslo"] };
  const parameters = { type: "object", properties: { city }, required: ["city"] };
  const asked = {
    model: "m",
    temperature: 0,
    tools: [{ type: "function", name: "weather", parameters, strict: true }],
  };
  const first = await client.responses.create({
    ...asked,
    input: "Is it warm in Rome?",
    max_output_tokens: 400,
    tool_choice: "required",
    parallel_tool_calls: false,
  });
  const call = first.output.find((item) => item.type === "function_call");
  assert.ok(city.enum.includes(JSON.parse(call.arguments).city));
  const second = await client.responses.create({
    ...asked,
    max_output_tokens: 8,
    previous_response_id: first.id,
    input: [{ type: "function_call_output", call_id: call.call_id, output: "18 degrees" }],
  });
  // A random model does not write its call as the template shows calls: that is prefilled again.
  assert.ok(second.usage.input_tokens > first.usage.input_tokens);
  assert.ok(second.usage.input_tokens_details.cached_tokens > first.usage.input_tokens - 64);
});

test("a stored response is fetched, listed and deleted", async () => {
  const asked = { model: "m", max_output_tokens: 8, temperature: 0, metadata: { for: "a test" } };
  const first = await client.responses.create({ ...asked, input: "What is a cairn?" });
  const second = await client.responses.create({
    ...asked,
    input: "Go on.",
    previous_response_id: first.id,
  });
  const fetched = await client.responses.retrieve(second.id);
  assert.equal(fetched.output_text, second.output_text);
  assert.deepEqual(fetched.metadata, asked.metadata);
  const items = await all(client.responses.inputItems.list(second.id, { order: "asc", limit: 1 }));
  assert.deepEqual(
    items.map((item) => item.role),
    ["user", "assistant", "user"],
  );
  await client.responses.delete(second.id);
  await assert.rejects(client.responses.retrieve(second.id), OpenAI.NotFoundError);
  await assert.rejects(
    client.responses.create({ ...asked, input: "More?", previous_response_id: second.id }),
    (error) => {
      assert.ok(error instanceof OpenAI.NotFoundError);
      assert.equal(error.param, "previous_response_id");
      assert.match(error.message, /was deleted/);
      return true;
    },
  );
  const unstored = await client.responses.create({ ...asked, input: "And?", store: false });
  assert.equal(unstored.store, false);
  await assert.rejects(client.responses.retrieve(unstored.id), OpenAI.NotFoundError);
});

test("embeddings are numbers", async (t) => {
  let answer;
  try {
    answer = await client.embeddings.create({ model: "m", input: ["a cairn", "a pile"] });
  } catch (error) {
    if (error.status === 404) return t.skip("/v1/embeddings is not there yet");
    if (error.status === 501) return t.skip(`the server says: ${error.message}`);
    throw error;
  }
  assert.equal(answer.data.length, 2);
  for (const entry of answer.data) {
    assert.ok(entry.embedding.length > 0);
    assert.ok(entry.embedding.every(Number.isFinite));
  }
  const floats = await client.embeddings.create({
    model: "m",
    input: "a cairn",
    encoding_format: "float",
  });
  assert.equal(floats.data[0].embedding.length, answer.data[0].embedding.length);
});

test("errors are of the client's types", async () => {
  const chat = (extra) => client.chat.completions.create({ ...ask, ...extra });
  await assert.rejects(chat({ temperature: "warm" }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, "temperature");
    return true;
  });
  await assert.rejects(chat({ messages: tooLong }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.match(error.message, /exceeds the available context size/);
    assert.equal(error.type, "exceed_context_size_error");
    return true;
  });
  await assert.rejects(chat({ messages: tooLong, stream: true }), OpenAI.BadRequestError);
  await assert.rejects(client.files.list(), OpenAI.NotFoundError);
  const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.chat.completions.create(ask), OpenAI.AuthenticationError);
});

test("a stream that is aborted frees its slot", async () => {
  const before = await generatedTokens();
  const stream = await client.chat.completions.create({
    ...ask,
    max_tokens: endless,
    ignore_eos: true,
    stream: true,
  });
  let chunks = 0;
  for await (const chunk of stream) {
    assert.equal(chunk.object, "chat.completion.chunk");
    if (++chunks === 3) stream.controller.abort();
  }
  assert.ok(await slotsComeFree());
  assert.ok((await generatedTokens()) - before < endless);
  const next = await client.chat.completions.create(ask);
  assert.equal(next.usage.completion_tokens, 8);
});

test("an answer that is waited for can be aborted", async () => {
  const before = await generatedTokens();
  const controller = new AbortController();
  const answer = client.chat.completions.create(
    { ...ask, max_tokens: endless, ignore_eos: true },
    { signal: controller.signal },
  );
  setTimeout(() => controller.abort(), 100);
  await assert.rejects(answer, OpenAI.APIUserAbortError);
  assert.ok(await slotsComeFree());
  assert.ok((await generatedTokens()) - before < endless);
});
