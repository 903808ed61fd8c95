// Prometheus' text as a table: "cairn_prompt_tokens_by_source_total{source=\"live\"}" -> 12.

export type Metrics = Map<string, number>;

export function parseMetrics(text: string): Metrics {
  const metrics: Metrics = new Map();
  for (const line of text.split("\n")) {
    const space = line.lastIndexOf(" ");
    if (line.startsWith("#") || space < 0) continue;
    metrics.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return metrics;
}

// The sum over all samples of a name, whatever their labels.
export function total(metrics: Metrics, name: string, label = ""): number {
  let sum = 0;
  for (const [sample, value] of metrics) {
    const ofName = sample === name || sample.startsWith(`${name}{`);
    if (ofName && sample.includes(label)) sum += value;
  }
  return sum;
}
