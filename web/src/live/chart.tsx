// One small chart over time, by uPlot.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { dark } from "../state/theme";

export interface Line {
  name: string;
  values: (number | null)[];
  colour: string; // the name of a CSS variable
  dash?: number[];
  dots?: boolean;
}

interface Props {
  title: string;
  now: string; // the newest value in words: what a reader who sees no chart gets
  times: number[];
  lines: Line[];
  unit: (value: number) => string;
  max?: number;
}

const kHeight = 120;

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Hours and minutes, and seconds only where the ticks are that near.
function timeOfDay(_: uPlot, ticks: number[]): string[] {
  const step = (ticks[1] ?? 60) - (ticks[0] ?? 0);
  const digits = step < 60 ? 8 : 5;
  return ticks.map((tick) => new Date(tick * 1000).toTimeString().slice(0, digits));
}

function axis(values?: (u: uPlot, ticks: number[]) => string[]): uPlot.Axis {
  return {
    stroke: colour("--dim"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
    ...(values === undefined
      ? { values: timeOfDay, space: 76, size: 28 }
      : { values, size: 62, space: 28 }),
  };
}

function options(props: Props, width: number): uPlot.Options {
  const { max, unit } = props;
  return {
    width,
    height: kHeight,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, __, top) => [0, max ?? Math.max(top || 0, 1) * 1.1] } },
    axes: [axis(), axis((_, ticks) => ticks.map(unit))],
    series: [
      {},
      ...props.lines.map((line) => ({
        stroke: colour(line.colour),
        width: 2,
        spanGaps: true,
        ...(line.dash === undefined ? {} : { dash: line.dash }),
        points: { show: line.dots === true, size: 6, fill: colour(line.colour) },
      })),
    ],
  };
}

export function Chart(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const isDark = dark.value;
  const names = props.lines.map((line) => line.name).join();
  useEffect(() => {
    const place = box.current;
    if (place === null) return;
    const made = new uPlot(options(props, place.clientWidth || 300), [[], ...props.lines.map(() => [])], place);
    plot.current = made;
    const watch = new ResizeObserver(() => {
      if (place.clientWidth > 0) made.setSize({ width: place.clientWidth, height: kHeight });
    });
    watch.observe(place);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [isDark, names]);
  useEffect(() => {
    plot.current?.setData([props.times, ...props.lines.map((line) => line.values)]);
  }, [props.times, isDark, names]);
  return (
    <figure class="chart">
      <figcaption>
        {props.title} <strong>{props.now}</strong>
      </figcaption>
      <div ref={box} role="img" aria-label={`${props.title}: ${props.now}`} />
    </figure>
  );
}
