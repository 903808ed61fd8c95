// What axe, a checker of accessibility, says of the page.
import type { Page } from "@playwright/test";
import axe from "axe-core";

interface Finding {
  id: string;
  impact?: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

// The findings that are serious or worse.
export async function serious(page: Page): Promise<string[]> {
  const found = (await page.evaluate(
    `${axe.source}; axe.run(document).then((result) => result.violations)`,
  )) as Finding[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}
