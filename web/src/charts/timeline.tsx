// Active (or running) threads over time, stacked by kind: mean per bin, so steps and not slopes.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { duration, integer, moment, number3, tick } from "../format";
import { Rounded } from "../parts/figure";
import { Missing, Section, TableAlternative } from "../parts/section";
import { KINDS, type Kind, type Payload, type Profile } from "../payload";
import { type Theme, useTheme } from "../theme";
import { clamp, pan, type Span, zoom } from "../view";
import { useWidth } from "./width";

const HEIGHT = 260;
export const KIND_NAMES: Record<Kind, string> = { app: "application", gc: "GC", jit: "JIT", vm: "VM" };
type Measure = "active" | "running";

interface Props {
  payload: Payload;
  span: Span;
  onSpan: (span: Span) => void;
}

export function Timeline({ payload, span, onSpan }: Props) {
  const [measure, setMeasure] = useState<Measure>("active");
  const profile = payload.parallelism?.profile;
  return (
    <Section
      id="timeline"
      title="Active threads over time"
      lead="A thread is active while it runs or waits for a CPU. Above the line of cores, threads wait for a CPU; below it, cores are left unused."
    >
      {profile && profile.start_ns.length > 0 ? (
        <>
          <fieldset class="choice">
            <legend class="sr-only">What to count</legend>
            {(["active", "running"] as const).map((m) => (
              <label key={m}>
                <input type="radio" name="measure" checked={measure === m} onChange={() => setMeasure(m)} />
                {m === "active" ? "active (running or runnable)" : "running only"}
              </label>
            ))}
          </fieldset>
          <Chart payload={payload} profile={profile} measure={measure} span={span} onSpan={onSpan} />
          <ProfileTable profile={profile} measure={measure} wall_ns={payload.wall_ns} />
        </>
      ) : (
        <Missing reason={payload.missing.parallelism ?? "The recording is empty: it holds no span of time."} />
      )}
    </Section>
  );
}

/** uPlot wants sums: the topmost kind first, each painted over the one above it. */
function stacked(profile: Profile, measure: Measure): number[][] {
  const n = profile.start_ns.length;
  const edges = [...profile.start_ns, (profile.start_ns[n - 1] ?? 0) + (profile.dur_ns[n - 1] ?? 0)];
  const sums = new Array<number>(n + 1).fill(0);
  const series = KINDS.map((kind) => {
    const values = profile[measure][kind];
    for (let i = 0; i <= n; i++) sums[i] = (sums[i] ?? 0) + (values[Math.min(i, n - 1)] ?? 0);
    return [...sums];
  });
  return [edges, ...series.reverse()];
}

interface ChartProps extends Props {
  profile: Profile;
  measure: Measure;
}

function Chart({ payload, profile, measure, span, onSpan }: ChartProps) {
  const theme = useTheme();
  const [holder, width] = useWidth<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const data = useMemo(() => stacked(profile, measure) as uPlot.AlignedData, [profile, measure]);
  const latest = useRef(span);
  latest.current = span;

  useEffect(() => {
    const element = holder.current;
    if (!element || width === 0) return;
    const made = new uPlot(options(payload, theme, width, latest, onSpan, setCursor), data, element);
    plot.current = made;
    return () => made.destroy();
  }, [payload, theme, width, data, onSpan, holder]);

  useEffect(() => {
    plot.current?.setScale("x", { min: span.from, max: span.to });
  }, [span]);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = spanAfter(event, span, payload.wall_ns, cursor === null ? null : middle(profile, cursor));
    if (next) {
      event.preventDefault();
      onSpan(next);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      const step = event.key === "ArrowRight" ? 1 : -1;
      const last = profile.start_ns.length - 1;
      const from = cursor ?? profile.start_ns.findIndex((s, i) => s + (profile.dur_ns[i] ?? 0) > span.from) - step;
      const to = Math.min(last, Math.max(0, from + step));
      setCursor(to);
      plot.current?.setCursor({ left: plot.current.valToPos(middle(profile, to), "x"), top: HEIGHT / 2 }, false);
    }
  };
  return (
    <>
      <div
        class="plot"
        ref={holder}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the chart is read with the arrow keys
        tabIndex={0}
        role="img"
        aria-label={`${measure === "active" ? "Active" : "Running"} threads over time, by kind. Arrow keys read it bin by bin; plus and minus zoom, 0 shows all. The table below holds the same data.`}
        onKeyDown={onKeyDown}
      />
      <Readout payload={payload} profile={profile} measure={measure} at={cursor} />
    </>
  );
}

const middle = (profile: Profile, i: number) => (profile.start_ns[i] ?? 0) + (profile.dur_ns[i] ?? 0) / 2;

/** The span that a key asks for (zooming around the cursor), or null for a key that means something else. */
export function spanAfter(event: KeyboardEvent, span: Span, wall_ns: number, cursor_ns: number | null): Span | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const inSight = cursor_ns !== null && cursor_ns >= span.from && cursor_ns <= span.to;
  const centre = inSight ? cursor_ns : (span.from + span.to) / 2;
  if (event.key === "+" || event.key === "=") return zoom(span, 0.5, centre, wall_ns);
  if (event.key === "-" || event.key === "_") return zoom(span, 2, centre, wall_ns);
  if (event.key === "0") return { from: 0, to: wall_ns };
  if (event.key === "ArrowLeft" && event.shiftKey) return pan(span, -0.25, wall_ns);
  if (event.key === "ArrowRight" && event.shiftKey) return pan(span, 0.25, wall_ns);
  return null;
}

function options(
  payload: Payload,
  theme: Theme,
  width: number,
  latest: { current: Span },
  onSpan: (span: Span) => void,
  onCursor: (index: number | null) => void,
): uPlot.Options {
  const steps = uPlot.paths.stepped?.({ align: 1 });
  const kinds = [...KINDS].reverse();
  const axis = { stroke: theme.muted, font: "12px system-ui, sans-serif", grid: { stroke: theme.grid, width: 1 } };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: () => [latest.current.from, latest.current.to] },
      y: { range: (_u, _min, max) => [0, Math.max(max, payload.recorded_cores ?? 0, 1) * 1.08] },
    },
    axes: [
      {
        ...axis,
        ticks: { stroke: theme.line, width: 1, size: 4 },
        values: (u, splits) => splits.map((v) => moment(v, tickStep(u, splits))),
        space: 70,
        size: 30,
      },
      { ...axis, ticks: { show: false }, size: 44, values: (_u, splits) => splits.map((v) => tick(v)) },
    ],
    series: [
      {},
      ...kinds.map((kind) => ({
        label: KIND_NAMES[kind],
        fill: theme[kind],
        width: 0,
        points: { show: false },
        ...(steps ? { paths: steps } : {}),
      })),
    ],
    hooks: {
      drawClear: [(u: uPlot) => drawPauses(u, payload, theme)],
      draw: [(u: uPlot) => drawStrip(u, payload, theme), (u: uPlot) => drawCores(u, payload.recorded_cores, theme)],
      setSelect: [
        (u: uPlot) => {
          const { left, width: selected } = u.select;
          if (selected < 3) return;
          onSpan(clamp({ from: u.posToVal(left, "x"), to: u.posToVal(left + selected, "x") }, payload.wall_ns));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      setCursor: [
        (u: uPlot) => {
          const i = u.cursor.idx;
          if (u.cursor.left === undefined || u.cursor.left < 0) onCursor(null);
          else if (i !== null && i !== undefined) onCursor(binUnder(u, u.cursor.left));
        },
      ],
    },
  };
}

function tickStep(_u: uPlot, splits: number[]): number {
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

function drawPauses(u: uPlot, payload: Payload, theme: Theme): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.fillStyle = theme.pause;
  for (const [start, dur, kind] of payload.phases.items) {
    if (kind !== "gc_pause") continue;
    const a = Math.max(left, u.valToPos(start, "x", true));
    const b = Math.min(left + width, u.valToPos(start + dur, "x", true));
    if (b > a) u.ctx.fillRect(a, top, Math.max(1, b - a), height);
  }
  u.ctx.restore();
}

/** The pauses again, as a strip above everything: behind full areas they would not be seen. */
function drawStrip(u: uPlot, payload: Payload, theme: Theme): void {
  const { left, top, width } = u.bbox;
  u.ctx.save();
  u.ctx.fillStyle = theme.gc;
  for (const [start, dur, kind] of payload.phases.items) {
    if (kind !== "gc_pause") continue;
    const a = Math.max(left, u.valToPos(start, "x", true));
    const b = Math.min(left + width, u.valToPos(start + dur, "x", true));
    if (b > a) u.ctx.fillRect(a, top, Math.max(devicePixelRatio, b - a), 5 * devicePixelRatio);
  }
  u.ctx.restore();
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
  const label = cores === 1 ? "1 core" : `${cores} cores`;
  u.ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  const room = u.ctx.measureText(label).width + 8 * ratio;
  u.ctx.fillStyle = theme.surface;
  u.ctx.fillRect(left + width - room, y - 9 * ratio, room, 18 * ratio);
  u.ctx.fillStyle = theme.text;
  u.ctx.textAlign = "right";
  u.ctx.textBaseline = "middle";
  u.ctx.fillText(label, left + width - 3 * ratio, y);
  u.ctx.restore();
}

interface ReadoutProps {
  payload: Payload;
  profile: Profile;
  measure: Measure;
  at: number | null;
}

/** The legend; it holds the figures under the cursor while there is one. */
function Readout({ payload, profile, measure, at }: ReadoutProps) {
  const total = at === null ? 0 : KINDS.reduce((sum, kind) => sum + (profile[measure][kind][at] ?? 0), 0);
  const width = at === null ? 0 : (profile.dur_ns[at] ?? 0);
  const pauses = payload.phases.items.some((phase) => phase[2] === "gc_pause");
  return (
    <p class="legend" aria-live="polite">
      {KINDS.map((kind) => (
        <span class="key" key={kind}>
          <span class="swatch" style={{ background: `var(--${kind})` }} />
          {KIND_NAMES[kind]}
          {at !== null && <b> {number3(profile[measure][kind][at] ?? 0)}</b>}
        </span>
      ))}
      {pauses && (
        <span class="key">
          <span class="swatch strip" />
          GC pause
          {payload.phases.left_out > 0 &&
            ` (the ${integer(payload.phases.items.length)} longest; ${integer(payload.phases.left_out)} more are not drawn)`}
        </span>
      )}
      <span class="at">
        {at === null
          ? `mean per bin of ${duration(profile.dur_ns[0] ?? 0)}; drag to zoom`
          : `${moment(profile.start_ns[at] ?? 0, width)} + ${duration(width)}: ${number3(total)} threads`}
      </span>
    </p>
  );
}

function ProfileTable({ profile, measure, wall_ns }: { profile: Profile; measure: Measure; wall_ns: number }) {
  return (
    <TableAlternative label={`Table: mean ${measure} threads in each of ${profile.start_ns.length} bins`}>
      {() => (
        <table>
          <thead>
            <tr>
              <th scope="col">from</th>
              <th scope="col">length</th>
              {KINDS.map((kind) => (
                <th scope="col" key={kind}>
                  {KIND_NAMES[kind]}
                </th>
              ))}
              {profile.stolen && <th scope="col">cores stolen</th>}
            </tr>
          </thead>
          <tbody>
            {profile.start_ns.map((start, i) => (
              <tr key={start}>
                <th scope="row">{moment(start, wall_ns / 1000)}</th>
                <td>{duration(profile.dur_ns[i] ?? 0)}</td>
                {KINDS.map((kind) => (
                  <td key={kind}>
                    <Rounded value={profile[measure][kind][i] ?? 0} />
                  </td>
                ))}
                {profile.stolen && (
                  <td>
                    <Rounded value={profile.stolen[i] ?? 0} />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableAlternative>
  );
}
