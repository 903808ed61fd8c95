import { expect, keep, say, test } from "./fixture";

test("the tree shows checkpoints, which may be pinned and dropped", async ({ open, server }) => {
  await say(open, "What is a cairn? I ask since I saw a pile of stones on a hill today.");
  const card = open.getByRole("region", { name: "What is remembered" });
  if (!(await server.has("cairn/cache/tree"))) {
    await expect(card).toContainText("does not show");
    return;
  }
  const tree = card.getByRole("region", { name: "Tree of conversations" });
  await expect(tree.getByRole("button").first()).toBeVisible();
  const node = tree.locator("button.node").last();
  await node.click();
  await card.getByRole("button", { name: "Pin", exact: true }).click();
  await expect(card.getByRole("button", { name: "Unpin" })).toBeVisible();
  await expect(node).toContainText("pinned");
  await keep(open, "tree");
  await card.getByRole("button", { name: "Unpin" }).click();
  await expect(node).not.toContainText("pinned");
  const before = await tree.locator("button.node").count();
  await card.getByRole("button", { name: "Drop" }).click();
  await expect.poll(() => tree.locator("button.node").count()).toBeLessThan(before);
});

test("a conversation may be warmed by a click", async ({ open, server }) => {
  await say(open, "Who builds them?");
  const button = open.getByRole("button", { name: "Warm this conversation" });
  if (!(await server.has("cairn/cache"))) {
    await expect(button).toHaveCount(0);
    return;
  }
  await button.click();
  await expect(open.getByText(/tokens are ready/)).toBeVisible();
});

test("requests are listed, each with its explanation", async ({ open, server }) => {
  await say(open, "How high are they?");
  const card = open.getByRole("region", { name: "Requests" });
  if (!(await server.has("cairn/requests"))) {
    await expect(card).toContainText("keeps no list");
    return;
  }
  const first = card.getByRole("listitem").first();
  await expect(first).toContainText("done");
  await first.locator("summary").click();
  await expect(first.locator(".sentence")).toBeVisible();
});

test("charts tell their newest values in words too", async ({ open }) => {
  await say(open, "What is a cairn?");
  const live = open.getByRole("region", { name: "Live" });
  await expect(live.locator("canvas")).toHaveCount(4);
  await expect(live.getByText("Hit rate")).toContainText("%");
  await expect(live.getByText("Bytes kept")).toContainText(/memory .*iB/);
});
