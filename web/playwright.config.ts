// The page's tests, in the browser of this machine, against servers that the tests start.
import { defineConfig } from "@playwright/test";

const chromium = process.env["CAIRN_CHROMIUM"] ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "tests",
  outputDir: "results",
  workers: 1,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  forbidOnly: true,
  reporter: "list",
  use: {
    viewport: { width: 1400, height: 1000 },
    launchOptions: {
      executablePath: chromium,
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    },
    trace: "off",
  },
});
