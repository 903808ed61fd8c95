import { answers, expect, keep, say, test } from "./fixture";
import { Server } from "./server";

test("a server that goes away and comes back is noticed", async ({ page }) => {
  const server = await Server.start("--cache-disk", "0");
  try {
    await page.goto(server.url);
    await say(page, "What is a cairn?");
    await server.stop();
    const notice = page.getByText("The server does not answer.");
    await expect(notice).toBeVisible();
    await page.getByLabel("Message", { exact: true }).fill("Who builds them?");
    await page.getByRole("button", { name: "Send" }).click();
    await expect(answers(page).nth(1)).toContainText("No answer: the server does not answer");
    await keep(page, "away");
    await server.run();
    await expect(notice).toBeHidden();
    await page.getByRole("button", { name: "Regenerate" }).nth(1).click();
    await expect(answers(page).nth(1)).toContainText("shepherds");
  } finally {
    await server.stop();
  }
});

test("an answer that is cut off says so", async ({ page }) => {
  // Shorter than the answer, which a server that stops would finish else.
  const server = await Server.start("--cache-disk", "0", "--shutdown-timeout", "1");
  try {
    await page.goto(server.url);
    await page.getByLabel("Message", { exact: true }).fill("Tell me a long story");
    await page.getByRole("button", { name: "Send" }).click();
    await expect(answers(page).first()).toContainText("path");
    await server.stop();
    // The server may still say why it ends, or be gone before it could.
    await expect(answers(page).first()).toContainText(/cut off|the server is shutting down/);
    await expect(answers(page).first()).toContainText("path");
  } finally {
    await server.stop();
  }
});

test("a server with keys is asked for one", async ({ page }) => {
  const server = await Server.start("--cache-disk", "0", "--api-key", "a-key-of-the-tests");
  try {
    await page.goto(server.url);
    await expect(page.getByRole("dialog")).toBeVisible();
    await keep(page, "key");
    await page.getByLabel("API key", { exact: true }).fill("wrong");
    await page.getByRole("button", { name: "Use it" }).click();
    await expect(page.getByText("is not one of this server's")).toBeVisible();
    await page.getByLabel("API key", { exact: true }).fill("a-key-of-the-tests");
    await page.getByLabel("API key", { exact: true }).press("Enter");
    await expect(page.getByRole("dialog")).toBeHidden();
    await say(page, "Who builds them?");
    await expect(answers(page).first()).toContainText("shepherds");
    await page.reload();
    await expect(page.getByText("made model")).toBeVisible();
    await expect(page.getByRole("dialog")).toBeHidden();
    expect(await page.evaluate(() => localStorage.getItem("cairn.key"))).toBeNull();
  } finally {
    await server.stop();
  }
});
