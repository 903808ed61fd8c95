import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, keep, say, test } from "./fixture";
import { Server } from "./server";

test("the tree shows checkpoints, which may be pinned and dropped", async ({ open }) => {
  await say(open, "What is a cairn? I ask since I saw a pile of stones on a hill today.");
  const card = open.getByRole("region", { name: "Cache", exact: true });
  const tree = card.getByRole("region", { name: "Tree of conversations" });
  await expect(tree.getByRole("button").first()).toBeVisible();
  await tree.locator("button.node").last().click();
  // Prefetching may add others meanwhile: from here on it is the open one.
  const node = tree.locator('button.node[aria-expanded="true"]');
  await card.getByRole("button", { name: "Pin", exact: true }).click();
  await expect(card.getByRole("button", { name: "Unpin" })).toBeVisible();
  await expect(node).toContainText("pinned");
  await keep(open, "tree");
  await card.getByRole("button", { name: "Unpin" }).click();
  await expect(node).not.toContainText("pinned");
  const dropping = open.waitForResponse((response) => response.request().method() === "DELETE");
  await card.getByRole("button", { name: "Drop" }).click();
  const dropped = await dropping;
  expect(dropped.ok()).toBe(true);
  await expect(node).toHaveCount(0);
  expect((await fetch(dropped.url())).status).toBe(404);
});

test("a checkpoint is prefetched by the keyboard, and the result is shown", async ({ open }) => {
  await say(open, "What is a cairn? I ask since I saw a pile of stones on a hill today.");
  const card = open.getByRole("region", { name: "Cache", exact: true });
  const nodes = card.getByRole("region", { name: "Tree of conversations" }).locator("button.node");
  const button = card.getByRole("button", { name: "Prefetch", exact: true });
  // Prefetching may take the place of the last ones meanwhile.
  await nodes.first().focus();
  await open.keyboard.press("Enter");
  await expect(button).toBeVisible();
  await open.keyboard.press("Tab");
  await expect(button).toBeFocused();
  const asked = open.waitForRequest((request) => request.url().endsWith("/cairn/cache/prefetch"));
  await open.keyboard.press("Enter");
  const { checkpoint } = (await asked).postDataJSON();
  expect(checkpoint).toMatch(/^[0-9]+$/);
  await expect(card.getByText(/tokens are ready: .*(in a slot|from memory)/)).toBeVisible();
  await expect(button).toBeFocused();
  await keep(open, "prefetched");
});

test("a checkpoint that went meanwhile leaves the tree when it is prefetched", async ({ open, server }) => {
  await say(open, "What is a cairn? I ask since I saw a pile of stones on a hill today.");
  const card = open.getByRole("region", { name: "Cache", exact: true });
  await card.locator("button.node").first().click();
  await open.route("**/cairn/cache/prefetch", async (route) => {
    const { checkpoint } = route.request().postDataJSON();
    await fetch(`${server.url}cairn/cache/checkpoints/${checkpoint}`, { method: "DELETE" });
    await route.continue();
  });
  const answer = open.waitForResponse("**/cairn/cache/prefetch");
  await card.getByRole("button", { name: "Prefetch", exact: true }).click();
  expect((await answer).status()).toBe(404);
  await expect(card.locator('button.node[aria-expanded="true"]')).toHaveCount(0);
});

test("after a restart a checkpoint is brought back from disk by a click", async ({ page }) => {
  const folder = mkdtempSync(join(tmpdir(), "cairn-page-"));
  const server = await Server.start("--cache-dir", folder, "--no-warm");
  try {
    await page.goto(server.url);
    await say(page, `What is a cairn? ${"I saw a pile of stones on a hill. ".repeat(60)}`);
    await server.stop();
    await server.run();
    const card = page.getByRole("region", { name: "Cache", exact: true });
    await card.locator("button.node", { hasText: "disk" }).last().click();
    await card.getByRole("button", { name: "Prefetch", exact: true }).click();
    await expect(card.getByText(/tokens are ready: .*came from disk/)).toBeVisible();
    await keep(page, "from-disk");
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a conversation may be prefetched by a click", async ({ open }) => {
  await say(open, "Who builds them?");
  const button = open.getByRole("button", { name: "Prefetch this conversation" });
  await button.click();
  await expect(open.getByText(/tokens are ready/)).toBeVisible();
});

test("requests are listed, each with its explanation", async ({ open }) => {
  await say(open, "How high are they?");
  const card = open.getByRole("region", { name: "Requests" });
  const first = card.getByRole("listitem").first();
  await expect(first).toContainText("done");
  await first.locator("summary").click();
  // A newer one may have come above it meanwhile.
  await expect(card.locator("details[open] .sentence")).toBeVisible();
});

test("charts tell their newest values in words too", async ({ open }) => {
  await say(open, "What is a cairn?");
  const live = open.getByRole("region", { name: "Live" });
  await expect(live.locator("canvas")).toHaveCount(4);
  await expect(live.getByText("Hit rate")).toContainText("%");
  await expect(live.getByText("Cache size")).toContainText(/memory .*iB/);
});
