import type { Page } from "@playwright/test";
import { answered, answers, expect, keep, say, test } from "./fixture";

function prompt(page: Page) {
  return page.getByRole("region", { name: "The prompt", exact: true });
}

// "1,234 tokens: 1,000 reused, 234 prefilled"
async function bar(page: Page): Promise<string> {
  return (await prompt(page).locator(".tokens").getAttribute("aria-label")) ?? "";
}

async function tokens(page: Page, kind: RegExp): Promise<number> {
  const found = kind.exec(await bar(page));
  return found === null ? 0 : Number(found[1]?.replace(/,/g, ""));
}

test("the first prompt is prefilled, and the next one continues from it", async ({ open }) => {
  await say(open, "Tell me what a cairn is, please.");
  await expect(prompt(open).locator(".stretch.computed").first()).toBeVisible();
  await say(open, "Who builds them?");
  await expect(prompt(open).locator(".tokens")).toHaveAttribute("aria-label", /reused|prefetched/);
  expect(await tokens(open, /([\d,]+) prefilled/)).toBeLessThan(await tokens(open, /^([\d,]+) tokens/));
  await expect(prompt(open).getByRole("rowheader")).toHaveText(["user", "assistant", "user"]);
});

test("an edit of an early message shows what is prefilled again, and why", async ({ open }) => {
  await say(open, "What is a cairn? I ask since I saw a pile of stones on a hill today.");
  await say(open, "Who builds them? I saw nobody there, and the hill was high and far away.");
  await say(open, "How high are they?");
  const wholeRead = await tokens(open, /([\d,]+) prefilled/);
  await open.getByRole("button", { name: "Edit" }).first().click();
  await open
    .getByLabel(/Change the message/)
    .fill("What is a cairn? I ask since I saw a heap of rocks in a valley today.");
  await open.getByRole("button", { name: "Send again" }).click();
  await expect(answers(open)).toHaveCount(1);
  await answered(open);
  await say(open, "Who builds them? I saw nobody there, and the hill was high and far away.");
  await expect(prompt(open).locator(".stretch.computed").first()).toBeVisible();
  expect(wholeRead).toBeGreaterThan(0);
  // The edit itself is the first of the two answers: show its prompt.
  await open.getByTitle("Show its prompt").first().click();
  await expect(prompt(open).getByRole("rowheader")).toHaveText(["user"]);
  await expect(prompt(open).locator(".sentence")).toBeVisible();
  await expect(prompt(open).getByText("diverges here")).toBeVisible();
  await expect(prompt(open).locator(".excerpts")).toContainText("heap");
  await keep(open, "edited");
});

interface Told {
  prompt_tokens: number;
  reused_tokens: number;
  messages: { index: number; role: string; begin: number; end: number }[];
}

// The `cairn` object of a stream.
function told(stream: string): Told {
  const found = stream.split("\n").findLast((line) => line.startsWith("data: {"));
  return (JSON.parse(found?.slice(6) ?? "{}") as { cairn: Told }).cairn;
}

// Where the elements begin and end, in tokens.
async function placed(page: Page, elements: string, tokens: number): Promise<[number, number][]> {
  const bar = await prompt(page).locator(".tokens").boundingBox();
  const all = await prompt(page).locator(elements).all();
  return Promise.all(
    all.map(async (element): Promise<[number, number]> => {
      const box = await element.boundingBox();
      if (bar === null || box === null) throw new Error("the bar is not in sight");
      const at = (x: number) => ((x - bar.x) * tokens) / bar.width;
      return [at(box.x), at(box.x + box.width)];
    }),
  );
}

test("the bar's parts are as wide as the tokens that the server tells", async ({ open }) => {
  await open.getByText("System message and limits").click();
  await open.getByLabel(/^System message, before/).fill("Answer as a mountain guide would.");
  await say(open, "What is a cairn? I ask since I saw a very large pile of stones on a hill today.");
  const answer = open.waitForResponse(/chat\/completions$/);
  await say(open, "Who builds them?");
  const cairn = told(await (await answer).text());
  expect(cairn.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  const bar = await prompt(open).locator(".tokens").boundingBox();
  const pixel = cairn.prompt_tokens / (bar?.width ?? 1); // in tokens
  const edges = await placed(open, ".edge", cairn.prompt_tokens);
  expect(edges.length).toBe(cairn.messages.length);
  for (const [index, { begin, end }] of cairn.messages.entries()) {
    expect(Math.abs((edges[index]?.[0] ?? -1) - begin)).toBeLessThan(pixel);
    expect(Math.abs((edges[index]?.[1] ?? -1) - end)).toBeLessThan(pixel);
  }
  const computed = await placed(open, ".stretch.computed", cairn.prompt_tokens);
  expect(Math.abs((computed[0]?.[0] ?? -1) - cairn.reused_tokens)).toBeLessThan(pixel);
  expect(Math.abs((computed.at(-1)?.[1] ?? -1) - cairn.prompt_tokens)).toBeLessThan(pixel);
  const counts = await prompt(open).locator("tbody td.figure").allTextContents();
  expect(counts).toEqual(cairn.messages.map(({ begin, end }) => String(end - begin)));
  // A marker's middle is at its token.
  const checkpoints = prompt(open).getByRole("button", { name: /^Checkpoint: / });
  await expect(checkpoints.first()).toBeVisible();
  const names = await checkpoints.evaluateAll((all) => all.map((e) => e.getAttribute("aria-label") ?? ""));
  const places = await placed(open, ".checkpoint", cairn.prompt_tokens);
  for (const [index, name] of names.entries()) {
    const [left, right] = places[index] ?? [-1, -1];
    const position = Number(/ at ([\d,]+),/.exec(name)?.[1]?.replace(/,/g, ""));
    expect(Math.abs((left + right) / 2 - position)).toBeLessThan(pixel);
  }
});

test("checkpoints lie on the bar, and lead to the tree", async ({ open }) => {
  await say(open, "Tell me a cairn is a stone, and a stone is a mark, and a mark is a way home.");
  await say(open, "Who builds them?");
  const checkpoints = prompt(open).getByRole("button", { name: /^Checkpoint: / });
  await expect(checkpoints.nth(1)).toBeVisible();
  await checkpoints.first().click();
  const card = open.getByRole("region", { name: "Cache", exact: true });
  await expect(card.getByRole("button", { name: "Drop" })).toBeVisible();
});

test("the system message is in front of everything", async ({ open }) => {
  await open.getByText("System message and limits").click();
  await open.getByLabel(/^System message, before/).fill("Answer as a mountain guide would.");
  await say(open, "What is a cairn?");
  await expect(prompt(open).getByRole("rowheader")).toHaveText(["system", "user"]);
});
