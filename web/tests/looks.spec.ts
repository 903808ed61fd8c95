// How it looks: on a wide screen and on a phone, light and dark, and to those who do not see it.
import type { Page } from "@playwright/test";
import { serious } from "./axe";
import { answers, expect, keep, say, test } from "./fixture";

async function talk(page: Page): Promise<void> {
  await say(page, "What is a cairn?");
  await say(page, "Who builds them?");
  await page.waitForTimeout(2500); // a round of polling, for the pictures
}

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious, ${scheme}`, async ({ open }) => {
    await open.emulateMedia({ colorScheme: scheme });
    expect(await serious(open)).toEqual([]);
    await talk(open);
    for (const details of await open.locator("details").all()) {
      await details.evaluate((element) => element.setAttribute("open", ""));
    }
    expect(await serious(open)).toEqual([]);
    await keep(open, `wide-${scheme}`);
  });

  test(`a phone shows one part at a time, ${scheme}`, async ({ open }) => {
    await open.setViewportSize({ width: 390, height: 780 });
    await open.emulateMedia({ colorScheme: scheme });
    await talk(open);
    await keep(open, `phone-chat-${scheme}`);
    for (const part of ["Prompt", "Tree", "Live", "Requests", "Doctor"]) {
      await open.getByRole("navigation").getByRole("button", { name: part }).click();
      await expect(answers(open).first()).toBeHidden();
      const sideways = await open.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(sideways).toBe(0);
      expect(await serious(open)).toEqual([]);
      await keep(open, `phone-${part.toLowerCase()}-${scheme}`);
    }
  });
}

test("the theme's button overrules the system and is remembered", async ({ open }) => {
  await open.emulateMedia({ colorScheme: "light" });
  await expect(open.locator("html")).toHaveAttribute("data-theme", "light");
  await open.getByRole("button", { name: "Theme: system" }).click();
  await open.getByRole("button", { name: "Theme: light" }).click();
  await expect(open.locator("html")).toHaveAttribute("data-theme", "dark");
  await open.reload();
  await expect(open.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("everything is reached by the keyboard", async ({ open }) => {
  await open.keyboard.press("Tab");
  await expect(open.getByRole("link", { name: "To the message" })).toBeFocused();
  await open.keyboard.press("Enter");
  await expect(open.getByLabel("Message", { exact: true })).toBeFocused();
  await open.keyboard.type("Tell me a long story");
  await open.keyboard.press("Enter");
  await expect(answers(open).first()).toContainText("path");
  await open.keyboard.press("Escape");
  await expect(answers(open).first()).toContainText("Stopped.");
  const seen = new Set<string>();
  for (let presses = 0; presses < 250; presses += 1) {
    await open.keyboard.press("Tab");
    seen.add(await open.evaluate(() => document.activeElement?.textContent ?? ""));
  }
  for (const name of ["New", "Edit", "Regenerate", "Theme: system"]) expect([...seen]).toContain(name);
});
