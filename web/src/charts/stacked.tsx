// Quantities over time on top of each other: means per bin, so steps and not slopes. Read by pointer and by keyboard.

import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { axisMoment, tick } from "../ui/format";
import { coresText } from "../ui/page";
import { clamp, type Span, spanAfter } from "../ui/span";
import { type Theme, useTheme } from "../ui/theme";
import { useWidth } from "../ui/width";

const HEIGHT = 260;
/** CSS pixels left and right of the plot itself: what stands below it in line with the time keeps the same. */
export const PLOT_INSET = { left: 44, right: 16 };

/** When the bins of a chart begin, and how long each is. */
export interface Bins {
  start_ns: number[];
  dur_ns: number[];
}

/** One quantity: its mean in each bin. */
export interface Layer {
  label: string;
  values: readonly number[];
  fill: string | CanvasPattern;
}

export type Painter = (u: uPlot, theme: Theme) => void;

interface Props {
  /** What a screen reader says of the picture. */
  label: string;
  bins: Bins;
  /** The lowest first. */
  layers: Layer[];
  cores: number | null;
  wall_ns: number;
  span: Span;
  onSpan: (span: Span) => void;
  at: number | null;
  onAt: (bin: number | null) => void;
  under?: Painter | undefined;
  over?: Painter | undefined;
}

/** uPlot wants sums: the topmost layer first, each painted over the one above it. */
function sums(bins: Bins, layers: Layer[]): number[][] {
  const n = bins.start_ns.length;
  const edges = [...bins.start_ns, (bins.start_ns[n - 1] ?? 0) + (bins.dur_ns[n - 1] ?? 0)];
  const total = new Array<number>(n + 1).fill(0);
  const series = layers.map(({ values }) => {
    for (let i = 0; i <= n; i++) total[i] = (total[i] ?? 0) + (values[Math.min(i, n - 1)] ?? 0);
    return [...total];
  });
  return [edges, ...series.reverse()];
}

const middle = (bins: Bins, i: number) => (bins.start_ns[i] ?? 0) + (bins.dur_ns[i] ?? 0) / 2;

/** Layers on top of each other over time. */
export function Stacked(props: Props) {
  const { label, bins, layers, cores, wall_ns, span, onSpan, at, onAt, under, over } = props;
  const theme = useTheme();
  const [holder, width] = useWidth<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const data = useMemo(() => sums(bins, layers) as uPlot.AlignedData, [bins, layers]);
  const latest = useRef(span);
  latest.current = span;

  useEffect(() => {
    const element = holder.current;
    if (!element || width === 0) return;
    const drawing = { layers, cores, wall_ns, onSpan, onAt, under, over };
    const made = new uPlot(options(drawing, theme, width, latest), data, element);
    plot.current = made;
    return () => made.destroy();
  }, [layers, cores, wall_ns, onSpan, onAt, under, over, theme, width, data, holder]);

  useEffect(() => {
    plot.current?.setScale("x", { min: span.from, max: span.to });
  }, [span]);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = spanAfter(event, span, wall_ns, at === null ? null : middle(bins, at));
    if (next) {
      event.preventDefault();
      onSpan(next);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      const step = event.key === "ArrowRight" ? 1 : -1;
      const last = bins.start_ns.length - 1;
      const from = at ?? bins.start_ns.findIndex((s, i) => s + (bins.dur_ns[i] ?? 0) > span.from) - step;
      const to = Math.min(last, Math.max(0, from + step));
      onAt(to);
      plot.current?.setCursor({ left: plot.current.valToPos(middle(bins, to), "x"), top: HEIGHT / 2 }, false);
    }
  };
  return (
    <div
      class="plot"
      ref={holder}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the chart is read with the arrow keys
      tabIndex={0}
      role="img"
      aria-label={`${label} Arrow keys read it bin by bin; plus and minus zoom, 0 shows all. The table below holds the same data.`}
      onKeyDown={onKeyDown}
    />
  );
}

type Drawing = Pick<Props, "layers" | "cores" | "wall_ns" | "onSpan" | "onAt" | "under" | "over">;

function options(drawing: Drawing, theme: Theme, width: number, latest: { current: Span }): uPlot.Options {
  const { layers, cores, wall_ns, onSpan, onAt, under, over } = drawing;
  const steps = uPlot.paths.stepped?.({ align: 1 });
  const axis = { stroke: theme.muted, font: "12px system-ui, sans-serif", grid: { stroke: theme.grid, width: 1 } };
  return {
    width,
    height: HEIGHT,
    padding: [10, PLOT_INSET.right, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: () => [latest.current.from, latest.current.to] },
      y: { range: (_u, _min, max) => [0, Math.max(max, cores ?? 0, 1) * 1.08] },
    },
    axes: [
      {
        ...axis,
        ticks: { stroke: theme.line, width: 1, size: 4 },
        values: (_u, splits) => splits.map((v) => axisMoment(v, tickStep(splits))),
        space: 70,
        size: 30,
      },
      { ...axis, ticks: { show: false }, size: PLOT_INSET.left, values: (_u, splits) => splits.map((v) => tick(v)) },
    ],
    series: [
      {},
      ...[...layers].reverse().map((layer) => ({
        label: layer.label,
        fill: () => layer.fill as string, // uPlot hands it to the canvas, which takes patterns, too
        width: 0,
        points: { show: false },
        ...(steps ? { paths: steps } : {}),
      })),
    ],
    hooks: {
      drawClear: [(u: uPlot) => under?.(u, theme)],
      draw: [(u: uPlot) => over?.(u, theme), (u: uPlot) => drawCores(u, cores, theme)],
      setSelect: [
        (u: uPlot) => {
          const { left, width: selected } = u.select;
          if (selected < 3) return;
          onSpan(clamp({ from: u.posToVal(left, "x"), to: u.posToVal(left + selected, "x") }, wall_ns));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      setCursor: [
        (u: uPlot) => {
          const i = u.cursor.idx;
          if (u.cursor.left === undefined || u.cursor.left < 0) onAt(null);
          else if (i !== null && i !== undefined) onAt(binUnder(u, u.cursor.left));
        },
      ],
    },
  };
}

function tickStep(splits: number[]): number {
  return splits.length > 1 ? (splits[1] ?? 0) - (splits[0] ?? 0) : 1e9;
}

/** The bin that holds the pixel: uPlot's own index is the nearest edge. */
function binUnder(u: uPlot, left: number): number {
  const t = u.posToVal(left, "x");
  const edges = u.data[0];
  let low = 0;
  let high = edges.length - 2;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if ((edges[mid] ?? 0) <= t) low = mid;
    else high = mid - 1;
  }
  return low;
}

function drawCores(u: uPlot, cores: number | null, theme: Theme): void {
  if (cores === null) return;
  const { left, width } = u.bbox;
  const y = Math.round(u.valToPos(cores, "y", true)) + 0.5;
  const ratio = devicePixelRatio;
  u.ctx.save();
  u.ctx.strokeStyle = theme.text;
  u.ctx.lineWidth = 1.5 * ratio;
  u.ctx.setLineDash([6 * ratio, 4 * ratio]);
  u.ctx.beginPath();
  u.ctx.moveTo(left, y);
  u.ctx.lineTo(left + width, y);
  u.ctx.stroke();
  const label = coresText(cores);
  u.ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  u.ctx.setLineDash([]);
  u.ctx.textAlign = "right";
  u.ctx.textBaseline = "middle";
  // A rim around the letters, and no box: it would hide the last bars.
  u.ctx.strokeStyle = theme.surface;
  u.ctx.lineWidth = 4 * ratio;
  u.ctx.lineJoin = "round";
  u.ctx.strokeText(label, left + width - 3 * ratio, y);
  u.ctx.fillStyle = theme.text;
  u.ctx.fillText(label, left + width - 3 * ratio, y);
  u.ctx.restore();
}
