// Lines over the numbers of threads, by uPlot: points where something was measured, whiskers where an interval is known.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { type Theme, useTheme } from "../ui/theme";
import { useWidth } from "../ui/width";

const HEIGHT = 280;

/** A line of the chart, with its interval if it has one. */
export interface Line {
  label: string;
  /** Name of a colour of the theme. */
  colour: keyof Theme;
  values: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
  dash?: number[];
  /** One value for all numbers of threads: a line across the whole chart. */
  isLevel?: boolean;
  width?: number;
}

interface Props {
  threads: number[];
  lines: Line[];
  label: string;
  format: (value: number) => string;
}

/** Lines over the number of threads. */
export function Lines({ threads, lines, label, format }: Props) {
  const theme = useTheme();
  const [holder, width] = useWidth<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const data = useMemo(() => [threads, ...lines.map((line) => line.values)] as uPlot.AlignedData, [threads, lines]);

  useEffect(() => {
    const element = holder.current;
    if (!element || width === 0) return;
    const made = new uPlot(options(threads, lines, theme, width, format, setAt), data, element);
    plot.current = made;
    return () => made.destroy();
  }, [threads, lines, theme, width, data, format, holder]);

  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = Math.min(threads.length - 1, Math.max(0, (at ?? (step === 1 ? -1 : threads.length)) + step));
    setAt(to);
    plot.current?.setCursor({ left: plot.current.valToPos(threads[to] ?? 0, "x"), top: HEIGHT / 2 }, false);
  };
  return (
    <>
      <div
        class="plot lines"
        ref={holder}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the chart is read with the arrow keys
        tabIndex={0}
        role="img"
        aria-label={`${label}. Arrow keys read it; the table below holds the same data.`}
        onKeyDown={onKeyDown}
      />
      <p class="legend" aria-live="polite">
        {lines.map((line) => (
          <span class="key" key={line.label}>
            <span class={line.dash ? "swatch dashed" : "swatch line"} style={{ color: `var(--${line.colour})` }} />
            {line.label}
            {at !== null && <b> {said(line, at, format)}</b>}
          </span>
        ))}
        <span class="at">{at === null ? "" : threads[at] === 1 ? "1 thread" : `${threads[at]} threads`}</span>
      </p>
    </>
  );
}

function said(line: Line, at: number, format: (value: number) => string): string {
  const value = line.values[at] ?? null;
  if (value === null) return "not known";
  const [low, high] = [line.low?.[at] ?? null, line.high?.[at] ?? null];
  return low === null || high === null ? format(value) : `${format(value)} (${format(low)} to ${format(high)})`;
}

/** The top of the scale: whiskers of little known values may leave the chart, values may not. */
function highest(lines: Line[]): number {
  const known = (values: (number | null)[]) =>
    Math.max(0, ...values.filter((value): value is number => value !== null));
  const values = known(lines.flatMap((line) => line.values));
  return Math.max(values, Math.min(known(lines.flatMap((line) => line.high ?? [])), values * 1.5));
}

function options(
  threads: number[],
  lines: Line[],
  theme: Theme,
  width: number,
  format: (value: number) => string,
  onCursor: (index: number | null) => void,
): uPlot.Options {
  const axis = { stroke: theme.muted, font: "12px system-ui, sans-serif", grid: { stroke: theme.grid, width: 1 } };
  const [first, last] = [threads[0] ?? 1, threads[threads.length - 1] ?? 1];
  const room = Math.max(0.5, (last - first) * 0.04);
  const top = highest(lines) * 1.08 || 1;
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false, setScale: false }, y: false },
    scales: { x: { time: false, range: () => [first - room, last + room] }, y: { range: () => [0, top] } },
    axes: [
      {
        ...axis,
        label: "threads",
        labelSize: 20,
        labelFont: "12px system-ui, sans-serif",
        ticks: { stroke: theme.line, width: 1, size: 4 },
        splits: () => apart(threads, width, first - room, last + room),
        values: (_u, splits) => splits.map(String),
        size: 30,
      },
      { ...axis, ticks: { show: false }, size: 64, values: (_u, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: theme[line.colour],
        width: line.width ?? 2,
        spanGaps: true,
        ...(line.dash ? { dash: line.dash } : {}),
        ...(line.isLevel ? { paths: () => null } : {}),
        points: { show: !line.dash, size: 7, fill: theme[line.colour] },
      })),
    ],
    hooks: {
      draw: [(u: uPlot) => drawLevels(u, lines, theme), (u: uPlot) => drawWhiskers(u, lines, theme)],
      setCursor: [
        (u: uPlot) => onCursor(u.cursor.left === undefined || u.cursor.left < 0 ? null : (u.cursor.idx ?? null)),
      ],
    },
  };
}

/** The numbers of threads that have room for their labels, always the last. */
function apart(threads: number[], width: number, from: number, to: number): number[] {
  const kept: number[] = [];
  for (const n of [...threads].reverse()) {
    const next = kept[kept.length - 1];
    if (next === undefined || ((next - n) / (to - from)) * (width - 64) >= 26) kept.push(n);
  }
  return kept.reverse();
}

function drawLevels(u: uPlot, lines: Line[], theme: Theme): void {
  u.ctx.save();
  for (const line of lines) {
    const value = line.isLevel ? (line.values[0] ?? null) : null;
    if (value === null) continue;
    const y = u.valToPos(value, "y", true);
    u.ctx.strokeStyle = theme[line.colour];
    u.ctx.lineWidth = (line.width ?? 2) * devicePixelRatio;
    u.ctx.setLineDash((line.dash ?? []).map((length) => length * devicePixelRatio));
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
  }
  u.ctx.restore();
}

function drawWhiskers(u: uPlot, lines: Line[], theme: Theme): void {
  const ratio = devicePixelRatio;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  u.ctx.clip();
  u.ctx.lineWidth = 1.5 * ratio;
  for (const line of lines) {
    u.ctx.strokeStyle = theme[line.colour];
    line.low?.forEach((low, i) => {
      const high = line.high?.[i] ?? null;
      if (low === null || high === null) return;
      const x = Math.round(u.valToPos(u.data[0][i] ?? 0, "x", true));
      const [a, b] = [u.valToPos(low, "y", true), u.valToPos(high, "y", true)];
      u.ctx.beginPath();
      for (const y of [a, b]) {
        u.ctx.moveTo(x - 5 * ratio, y);
        u.ctx.lineTo(x + 5 * ratio, y);
      }
      u.ctx.moveTo(x, a);
      u.ctx.lineTo(x, b);
      u.ctx.stroke();
    });
  }
  u.ctx.restore();
}
