// What all tests share: one server, a page on it that must not complain, and pictures that are kept.
import { expect, test as base, type Page } from "@playwright/test";
import { Server } from "./server";

interface Fixtures {
  complaints: string[];
  open: Page;
}

export const test = base.extend<Fixtures, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start("--cache-disk", "0");
      await use(server);
      await server.stop();
    },
    { scope: "worker" },
  ],
  // What the page's console says. A path that a server does not have is said by the browser itself.
  complaints: async ({ page }, use) => {
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      const told = message.type() === "error" || message.type() === "warning";
      const known = message.text().startsWith("Failed to load resource");
      if (told && !known) complaints.push(message.text());
    });
    await use(complaints);
  },
  // Whatever the page asks anybody but its server for fails the test.
  open: async ({ page, server, complaints }, use) => {
    page.on("request", (request) => {
      const from = new URL(request.url());
      if (from.protocol.startsWith("http") && from.hostname !== "127.0.0.1") {
        complaints.push(`asked ${request.url()}`);
      }
    });
    await page.goto(server.url);
    await use(page);
    expect(complaints).toEqual([]);
  },
});

export { expect };

export async function say(page: Page, text: string): Promise<void> {
  const answers = await page.getByRole("article", { name: "The model" }).count();
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByLabel("Message", { exact: true }).press("Enter");
  await expect(page.getByRole("article", { name: "The model" })).toHaveCount(answers + 1);
  await answered(page);
}

// The answer on its way has ended.
export async function answered(page: Page): Promise<void> {
  await expect(page.getByRole("button", { name: "Send", exact: true })).toBeVisible();
}

export function answers(page: Page) {
  return page.getByRole("article", { name: "The model" });
}

export async function keep(page: Page, name: string): Promise<void> {
  const folder = process.env["CAIRN_SCREENSHOTS"] ?? "screenshots";
  await page.screenshot({ path: `${folder}/${name}.png` });
}
