// What the tests know of the server, and how they look at it.

export const url = process.env.CAIRN_URL;
export const key = process.env.CAIRN_KEY;

export const question = [{ role: "user", content: "What is a cairn?" }];
export const tooLong = [{ role: "user", content: "x".repeat(20000) }];

export const weather = {
  name: "weather",
  description: "The weather of a city.",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

// The made model calls nothing by itself: a grammar leaves it one answer, a call as the chat
// template shows them.
export const callGrammar = String.raw`root ::= "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>"`;

async function get(path) {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
  return answer;
}

async function metric(name) {
  const metrics = await (await get("/metrics")).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)[1]);
}

// Tokens, by all answers so far.
export const generatedTokens = () => metric("llamacpp:tokens_predicted_total");
// Pictures, by all requests so far.
export const encodedPictures = () => metric("cairn_media_encoded_total");

// Waits until no slot works any more; false when one still does after half a minute.
export async function slotsComeFree() {
  for (let tries = 0; tries < 600; ++tries) {
    const slots = await (await get("/slots")).json();
    if (slots.every((slot) => !slot.is_processing)) return true;
    await new Promise((done) => setTimeout(done, 50));
  }
  return false;
}
