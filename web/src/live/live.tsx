import { bytes, milliseconds, number } from "../parts/words";
import { firstTokens, history } from "../state/history";
import { Chart } from "./chart";

function last(values: (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

function words(value: number | null, unit: (value: number) => string): string {
  return value === null ? "nothing yet" : unit(value);
}

const rate = (value: number) => `${Math.round(value)} %`;
const speed = (value: number) => `${number(value)}/s`;

export function Live() {
  const { times, hitRate, tokensComputed, ramBytes, diskBytes } = history.value;
  const first = firstTokens();
  const stored = `memory ${words(last(ramBytes), bytes)}, disk ${words(last(diskBytes), bytes)}`;
  return (
    <div class="charts">
      <Chart
        title="Hit rate"
        now={words(last(hitRate), rate)}
        times={times}
        lines={[{ name: "hit rate", values: hitRate, colour: "--reused", dots: true }]}
        unit={rate}
        max={105}
      />
      <Chart
        title="Prefill"
        now={words(last(tokensComputed), speed)}
        times={times}
        lines={[{ name: "tokens prefilled", values: tokensComputed, colour: "--computed" }]}
        unit={speed}
      />
      <Chart
        title="Cache size"
        now={stored}
        times={times}
        lines={[
          { name: "memory", values: ramBytes, colour: "--restored" },
          { name: "disk", values: diskBytes, colour: "--prefetched", dash: [6, 4] },
        ]}
        unit={bytes}
      />
      <Chart
        title="Time to first token"
        now={words(last(first.waits), milliseconds)}
        times={first.times}
        lines={[{ name: "wait", values: first.waits, colour: "--accent", dots: true }]}
        unit={milliseconds}
      />
    </div>
  );
}
