// Predicted wall time over cores, with its interval, against the ideal (work spread evenly) and the critical floor.

import type { Payload, Prediction, Walltime } from "../payload/recording";
import { Duration, MaybeDuration } from "../ui/figure";
import { duration, tick, ticks } from "../ui/format";
import { Head } from "../ui/head";
import { coresText } from "../ui/page";
import { useRoving } from "../ui/roving";
import { Missing, Section, TableAlternative } from "../ui/section";
import { useWidth } from "../ui/width";

const HEIGHT = 260;
const PAD = { top: 16, right: 20, bottom: 40, left: 60 };

/** Predicted wall times by number of cores. */
export function WalltimeChart({ payload }: { payload: Payload }) {
  const walltime = payload.walltime;
  return (
    <Section
      id="walltime"
      title="Wall time on other numbers of cores"
      lead="What the program would take if nothing else changed: as many threads, the same cores at the same speed."
    >
      {walltime && walltime.predictions.length > 0 ? (
        <>
          {walltime.idle === null ? null : <p>{walltime.idle}</p>}
          {walltime.predictions.every((p) => p.ns === null) ? null : <Plot walltime={walltime} />}
          <Withheld predictions={walltime.predictions} />
          <PredictionTable walltime={walltime} />
        </>
      ) : (
        <Missing reason={payload.missing.walltime ?? "No number of cores was asked for."} />
      )}
    </Section>
  );
}

function describe(p: Prediction): string {
  const cores = coresText(p.cores);
  if (p.ns === null) return `${cores}: withheld, ${p.withheld ?? "no reason given"}`;
  const interval = p.low_ns === null || p.high_ns === null ? "" : `, ${duration(p.low_ns)} to ${duration(p.high_ns)}`;
  return `${cores}: ${duration(p.ns)}${interval}; ideal ${duration(p.ideal_ns)}`;
}

function Withheld({ predictions }: { predictions: Prediction[] }) {
  const withheld = predictions.filter((p) => p.ns === null);
  if (withheld.length === 0) return null;
  return (
    <ul class="withheld">
      {withheld.map((p) => (
        <li key={p.cores}>
          <strong>{coresText(p.cores)}</strong> withheld: {p.withheld}
        </li>
      ))}
    </ul>
  );
}

interface Scales {
  width: number;
  x: (i: number) => number;
  y: (ns: number) => number;
  max: number;
}

function scales(walltime: Walltime, width: number): Scales {
  const shown = walltime.predictions;
  const most = Math.max(
    walltime.measured_ns,
    ...shown.map((p) => Math.max(p.ns ?? 0, p.high_ns ?? 0, p.ns === null ? 0 : p.ideal_ns)),
  );
  const lines = ticks(0, most * 1.04, 6);
  const max = Math.max(most * 1.04, lines[lines.length - 1] ?? most);
  const slot = (width - PAD.left - PAD.right) / shown.length;
  return {
    width,
    max,
    x: (i) => PAD.left + (i + 0.5) * slot,
    y: (ns) => HEIGHT - PAD.bottom - (ns / max) * (HEIGHT - PAD.top - PAD.bottom),
  };
}

/** The floor is as doubtful as the predictions: down to where it may lie with all that their intervals cover. */
function floorLow(walltime: Walltime): string {
  const low = walltime.critical_low_ns;
  return low === null || low >= walltime.critical_ns
    ? ""
    : `, or down to ${duration(low)} with what the intervals cover`;
}

function Plot({ walltime }: { walltime: Walltime }) {
  const [holder, width] = useWidth<HTMLDivElement>();
  const roving = useRoving(walltime.predictions.length);
  return (
    <>
      <div class="svg-holder" ref={holder}>
        {width > 0 && (
          <svg
            width={width}
            height={HEIGHT}
            role="group"
            aria-label="Predicted wall time by number of cores"
            onKeyDown={roving.onKeyDown}
          >
            <Drawing walltime={walltime} scales={scales(walltime, width)} roving={roving} />
          </svg>
        )}
      </div>
      <p class="legend">
        <span class="key">
          <span class="swatch dot" />
          predicted, with its interval
        </span>
        <span class="key">
          <span class="swatch dashes" />
          ideal: all work spread evenly
        </span>
        <span class="key">
          <span class="swatch floor" />
          floor: time with at most 1 active thread{floorLow(walltime)}
        </span>
        <span class="key">
          <span class="swatch diamond" />
          measured
        </span>
      </p>
    </>
  );
}

interface DrawingProps {
  walltime: Walltime;
  scales: Scales;
  roving: ReturnType<typeof useRoving>;
}

function Drawing({ walltime, scales: { width, x, y, max }, roving }: DrawingProps) {
  const shown = walltime.predictions;
  const line = (points: [number, number][]) => points.map(([px, py], i) => `${i ? "L" : "M"}${px} ${py}`).join("");
  const predicted = shown.flatMap((p, i): [number, number][] => (p.ns === null ? [] : [[x(i), y(p.ns)]]));
  const ideal = shown.map((p, i): [number, number] => [x(i), y(p.ideal_ns)]);
  const measured = shown.findIndex((p) => p.cores === walltime.recorded_cores);
  return (
    <>
      {ticks(0, max, 6).map((ns) => (
        <g key={ns} class="grid" aria-hidden="true">
          <line x1={PAD.left} x2={width - PAD.right} y1={y(ns)} y2={y(ns)} />
          <text x={PAD.left - 6} y={y(ns)} text-anchor="end" dominant-baseline="middle">
            {ns === 0 ? "0" : axisTime(ns, max)}
          </text>
        </g>
      ))}
      <line
        class="floor"
        x1={PAD.left}
        x2={width - PAD.right}
        y1={y(walltime.critical_ns)}
        y2={y(walltime.critical_ns)}
      />
      {walltime.critical_low_ns !== null && (
        <rect
          class="floor-band"
          x={PAD.left}
          width={width - PAD.left - PAD.right}
          y={y(walltime.critical_ns)}
          height={y(walltime.critical_low_ns) - y(walltime.critical_ns)}
        />
      )}
      <path class="ideal" d={line(ideal)} />
      <path class="predicted" d={line(predicted)} />
      {measured >= 0 && (
        <path class="measured" d={diamond(x(measured), y(walltime.measured_ns))}>
          <title>{`measured: ${duration(walltime.measured_ns)}`}</title>
        </path>
      )}
      {shown.map((p, i) => (
        <g
          key={p.cores}
          class="mark"
          data-mark={i}
          role="img"
          tabIndex={roving.tabIndex(i)}
          aria-label={describe(p)}
          onFocus={() => roving.onFocus(i)}
        >
          <title>{describe(p)}</title>
          <rect class="hit" x={x(i) - 18} y={PAD.top} width={36} height={HEIGHT - PAD.top - PAD.bottom + 20} />
          {p.low_ns !== null && p.high_ns !== null && p.ns !== null && (
            <Interval x={x(i)} low={y(p.low_ns)} high={y(p.high_ns)} />
          )}
          {p.ns !== null ? (
            <circle class="predicted" cx={x(i)} cy={y(p.ns)} r={4.5} />
          ) : (
            <text class="label" x={x(i)} y={y(0) - 8}>
              withheld
            </text>
          )}
          <text
            class={p.cores === walltime.recorded_cores ? "label strong" : "label"}
            x={x(i)}
            y={HEIGHT - PAD.bottom + 16}
          >
            {p.cores}
          </text>
        </g>
      ))}
      <text class="axis-name" x={PAD.left + (width - PAD.left - PAD.right) / 2} y={HEIGHT - 4}>
        cores
      </text>
    </>
  );
}

const diamond = (x: number, y: number) => `M${x} ${y - 9}l9 9l-9 9l-9 -9z`;

function axisTime(ns: number, max: number): string {
  const [scale, unit] = max >= 2e9 ? [1e9, "s"] : max >= 2e6 ? [1e6, "ms"] : [1e3, "µs"];
  return `${tick(ns / scale)} ${unit}`;
}

function Interval({ x, low, high }: { x: number; low: number; high: number }) {
  return (
    <g class="interval">
      <line x1={x} x2={x} y1={low} y2={high} />
      <line x1={x - 6} x2={x + 6} y1={low} y2={low} />
      <line x1={x - 6} x2={x + 6} y1={high} y2={high} />
    </g>
  );
}

function PredictionTable({ walltime }: { walltime: Walltime }) {
  return (
    <TableAlternative label="Table: predicted wall time at each number of cores">
      {() => (
        <table id="walltime-table">
          <Head
            names={["cores", "predicted", "from", "to", "without stolen time", "ideal", "what the interval covers"]}
          />
          <tbody>
            {walltime.predictions.map((p) => (
              <tr key={p.cores}>
                <th scope="row">{p.cores}</th>
                <td>
                  <MaybeDuration value={p.ns} />
                </td>
                <td>
                  <MaybeDuration value={p.low_ns} />
                </td>
                <td>
                  <MaybeDuration value={p.high_ns} />
                </td>
                <td>
                  <MaybeDuration value={p.corrected_ns} />
                </td>
                <td>
                  <Duration value={p.ideal_ns} />
                </td>
                <td class="text">{p.withheld ?? p.interval}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableAlternative>
  );
}
