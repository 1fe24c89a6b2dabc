// A causal curve: how much faster the program gets (up) when the line gets faster (right).

import { tick, ticks } from "../ui/format";
import type { Row } from "./rows";
import { isWeak, pointText } from "./words";

/** The program speedups that a chart shows, in percent. */
export interface Range {
  low: number;
  high: number;
}

interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const SMALL: Frame = { width: 208, height: 104, left: 8, right: 8, top: 8, bottom: 8 };

/** One scale for all curves, so that a flat one looks flat: points and intervals of all that say something. */
export function rangeOf(rows: readonly Row[]): Range {
  const said = rows.filter((row) => !isWeak(row));
  const values = [0, 5];
  for (const point of (said.length > 0 ? said : rows).flatMap((row) => row.points)) {
    values.push(point.program_pct);
    if (said.length > 0) values.push(point.low_pct ?? 0, point.high_pct ?? 0);
  }
  const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [0, 0]);
  const room = (high - low) * 0.06;
  return { low: Math.min(low - room, -2), high: high + room };
}

/** Return how percent become pixels: x for virtual, y for program speedup. */
export function scales(frame: Frame, range: Range) {
  const [w, h] = [frame.width - frame.left - frame.right, frame.height - frame.top - frame.bottom];
  return {
    x: (pct: number) => frame.left + (pct / 100) * w,
    y: (pct: number) => frame.top + ((range.high - pct) / (range.high - range.low)) * h,
  };
}

/** A dot's area grows with the experiments behind it; 2 to 7 pixels. */
export const radius = (experiments: number): number => Math.min(7, Math.max(2, 1.2 * Math.sqrt(experiments)));

interface Props {
  row: Row;
  frame: Frame;
  range: Range;
  name: string;
}

/** The drawing alone: band, line at 0, curve, points and the mark of the most it gives. */
export function Shape({ row, frame, range, name }: Props) {
  const { x, y } = scales(frame, range);
  const at = (pct: number, value: number) => `${x(pct).toFixed(2)} ${y(value).toFixed(2)}`;
  const band = row.points.filter((point) => point.low_pct !== null && point.high_pct !== null);
  const upper = band.map((point) => at(point.virtual_pct, point.high_pct ?? 0));
  const lower = band.map((point) => at(point.virtual_pct, point.low_pct ?? 0)).reverse();
  const small = frame === SMALL;
  const most = row.curve?.significant ? row.curve : null;
  return (
    <>
      <clipPath id={`clip-${name}`}>
        <rect x={0} y={frame.top} width={frame.width} height={frame.height - frame.top - frame.bottom} />
      </clipPath>
      <g clip-path={`url(#clip-${name})`}>
        {band.length > 1 && <path class="band" d={`M${[...upper, ...lower].join("L")}Z`} />}
      </g>
      <line class="zero" x1={frame.left} x2={frame.width - frame.right} y1={y(0)} y2={y(0)} />
      <g clip-path={`url(#clip-${name})`}>
        {row.points.length > 1 && (
          <path class="curve" d={`M${row.points.map((p) => at(p.virtual_pct, p.program_pct)).join("L")}`} />
        )}
        {row.points.map((point) => (
          <circle
            key={point.virtual_pct}
            class="experiment"
            data-virtual={point.virtual_pct}
            cx={x(point.virtual_pct)}
            cy={y(point.program_pct)}
            r={radius(point.experiments) * (small ? 0.6 : 1)}
          />
        ))}
      </g>
      {most !== null && most.maximum_pct !== null && most.maximum_at_pct !== null && (
        <circle class="most" cx={x(most.maximum_at_pct)} cy={y(most.maximum_pct)} r={small ? 6 : 11} />
      )}
    </>
  );
}

const PAD = { left: 58, right: 20, top: 14, bottom: 42 };
export const LARGE_HEIGHT = 320;

interface LargeProps {
  row: Row;
  range: Range;
  width: number;
  roving: { tabIndex: (i: number) => 0 | -1; onFocus: (i: number) => void };
}

/** The same with axes, and a mark for each point that the keyboard reaches. */
export function Large({ row, range, width, roving }: LargeProps) {
  const frame = { width, height: LARGE_HEIGHT, ...PAD };
  const { x, y } = scales(frame, range);
  const inner = width - PAD.left - PAD.right;
  const hit = Math.min(36, inner / Math.max(1, row.points.length));
  return (
    <>
      {ticks(range.low, range.high, 6).map((pct) => (
        <g key={pct} class="grid" aria-hidden="true">
          <line x1={PAD.left} x2={width - PAD.right} y1={y(pct)} y2={y(pct)} />
          <text x={PAD.left - 8} y={y(pct)} text-anchor="end" dominant-baseline="middle">
            {`${tick(pct).replace("-", "−")}%`}
          </text>
        </g>
      ))}
      {[0, 25, 50, 75, 100].map((pct) => (
        <text key={pct} class="label" x={x(pct)} y={LARGE_HEIGHT - PAD.bottom + 18} aria-hidden="true">
          {`${pct}%`}
        </text>
      ))}
      <Shape row={row} frame={frame} range={range} name="large" />
      {row.points.map((point, i) => (
        <g
          key={point.virtual_pct}
          class="mark"
          data-mark={i}
          role="img"
          tabIndex={roving.tabIndex(i)}
          aria-label={pointText(point)}
          onFocus={() => roving.onFocus(i)}
        >
          <title>{pointText(point)}</title>
          <rect
            class="hit"
            x={x(point.virtual_pct) - hit / 2}
            y={PAD.top}
            width={hit}
            height={LARGE_HEIGHT - PAD.top - PAD.bottom}
          />
        </g>
      ))}
      <text class="axis-name" x={PAD.left + inner / 2} y={LARGE_HEIGHT - 4} aria-hidden="true">
        the line faster by
      </text>
    </>
  );
}
