import { expect, keep, say, test } from "./fixture";

test("the tree shows checkpoints, which may be pinned and dropped", async ({ open }) => {
  await say(open, "What is a cairn? I ask since I saw a pile of stones on a hill today.");
  const card = open.getByRole("region", { name: "What is remembered" });
  const tree = card.getByRole("region", { name: "Tree of conversations" });
  await expect(tree.getByRole("button").first()).toBeVisible();
  await tree.locator("button.node").last().click();
  // Reading ahead may add others meanwhile: from here on it is the open one.
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

test("a conversation may be warmed by a click", async ({ open }) => {
  await say(open, "Who builds them?");
  const button = open.getByRole("button", { name: "Warm this conversation" });
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
  await expect(live.getByText("Bytes kept")).toContainText(/memory .*iB/);
});
