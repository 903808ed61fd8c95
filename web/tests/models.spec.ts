import { answers, expect, keep, say, test } from "./fixture";
import { Server } from "./server";

test("a router's models are chosen, loaded by their first message, and unloaded", async ({ page }) => {
  const server = await Server.startRouter(["alpha", "beta"], "--cache-disk", "0");
  try {
    await page.goto(server.url);
    const chooser = page.getByRole("combobox", { name: "Model" });
    await expect(chooser).toHaveValue("alpha");
    await expect(chooser).toContainText("alpha (unloaded)");
    // Looking at a model does not load it.
    await expect(page.getByText("alpha is not loaded")).toBeVisible();
    await say(page, "Who builds them?");
    await expect(answers(page).first()).toContainText("shepherds");
    await expect(chooser).toContainText("alpha (loaded)");
    await expect(page.getByText(/loaded, keeps .* in memory/)).toBeVisible();
    await chooser.selectOption("beta");
    await say(page, "How high are they?");
    await expect(answers(page).nth(1)).toContainText("knee");
    await expect(page.getByText(/loaded, keeps .* in memory/)).toHaveCount(2);
    await keep(page, "models");
    await page.getByRole("button", { name: "Unload alpha" }).click();
    await expect(page.getByRole("button", { name: "Load alpha" })).toBeVisible();
    await page.reload();
    await expect(chooser).toHaveValue("beta");
  } finally {
    await server.stop();
  }
});

test("a server with one model has nothing to choose", async ({ open }) => {
  await expect(open.getByText("made model")).toBeVisible();
  await expect(open.getByRole("combobox", { name: "Model" })).toHaveCount(0);
});
