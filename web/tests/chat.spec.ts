import { answered, answers, expect, keep, say, test } from "./fixture";

test("an answer comes in pieces, with its reasoning folded", async ({ open }) => {
  await say(open, "What is a cairn?");
  const answer = answers(open).first();
  await expect(answer.locator("strong")).toHaveText("cairn");
  await expect(answer.getByRole("listitem")).toHaveCount(2);
  const reasoning = answer.getByText("They ask about stones.");
  await expect(reasoning).toBeHidden();
  await answer.getByText("Reasoning").click();
  await expect(reasoning).toBeVisible();
  await say(open, "Who builds them?");
  await expect(answers(open).nth(1)).toContainText("shepherds");
  await keep(open, "chat");
});

test("an answer may be stopped, and made again", async ({ open }) => {
  await open.getByLabel("Message", { exact: true }).fill("Tell me a long story");
  await open.getByRole("button", { name: "Send" }).click();
  await expect(answers(open).first()).toContainText("path");
  await open.getByRole("button", { name: "Stop" }).click();
  await expect(answers(open).first()).toContainText("Stopped.");
  await open.getByRole("button", { name: "Regenerate" }).click();
  await expect(answers(open)).toHaveCount(1);
  await expect(answers(open).first()).not.toContainText("Stopped.");
  await expect(answers(open).first()).toContainText("path");
  await open.getByRole("button", { name: "Stop" }).click();
  await answered(open);
});

test("what a model writes is shown, not run", async ({ open }) => {
  await say(open, "Show me a table");
  const answer = answers(open).first();
  await expect(answer.getByRole("cell", { name: "granite" })).toBeVisible();
  await expect(answer.locator("pre")).toContainText("<script>");
  await expect(answer.locator("img")).toHaveCount(0);
  await expect(answer.getByRole("link")).toHaveAttribute("rel", "noopener noreferrer");
});

test("a reload of the page keeps the conversation", async ({ open }) => {
  await say(open, "How high are they?");
  await open.reload();
  await expect(answers(open).first()).toContainText("higher than a house");
  await expect(open.getByText(/tokens reused/).first()).toBeVisible();
  await say(open, "Who builds them?");
  await expect(answers(open)).toHaveCount(2);
  await open.getByRole("button", { name: "New" }).click();
  await expect(answers(open)).toHaveCount(0);
  await open.getByLabel("Conversation", { exact: true }).first().selectOption({ index: 1 });
  await expect(answers(open)).toHaveCount(2);
});
