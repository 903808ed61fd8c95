// Prometheus' text as a table: "cairn_prompt_tokens_by_source_total{source=\"live\"}" -> 12.

export type Metrics = Map<string, number>;

// With a model: the samples of a router's page that have it, without the label.
export function parseMetrics(text: string, model = ""): Metrics {
  const metrics: Metrics = new Map();
  const label = `model=${JSON.stringify(model)}`;
  for (const line of text.split("\n")) {
    const space = line.lastIndexOf(" ");
    if (line.startsWith("#") || space < 0) continue;
    let sample = line.slice(0, space);
    if (model !== "") {
      if (!sample.includes(label)) continue;
      sample = sample.replace(`${label},`, "").replace(label, "").replace("{}", "");
    }
    metrics.set(sample, Number(line.slice(space + 1)));
  }
  return metrics;
}

// The values of a metric by the label `model`.
export function byModel(text: string, name: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const match = /^(\w+)\{model="((?:[^"\\]|\\.)*)"\} (\S+)$/.exec(line);
    if (match?.[1] === name) values.set(JSON.parse(`"${match[2]}"`) as string, Number(match[3]));
  }
  return values;
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
