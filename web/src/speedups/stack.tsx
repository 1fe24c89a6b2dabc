// The speedup stack (Sartor et al., ISPASS 2017): where N threads go. The parts add up to N.
import { type Column, Columns, type Place } from "../charts/columns";
import type { SweepPage, SweepRow } from "../payload/sweep";
import { ticks } from "../ui/format";
import { Missing, Section } from "../ui/section";
import { type Figure, FiguresBelow, Ratio, ratio } from "./figures";

const HEIGHT = 300;
const LEAD =
  "Each column is as high as there are threads. The speedup is what they achieve; the rest is what they lose, and to what.";

interface Segment {
  limit: string;
  from: number;
  to: number;
}

/** Losses from the speedup up; what the parallel program loses less than the sequential one goes below 0. */
export function segments(stack: Record<string, number>): Segment[] {
  const order = ["speedup", ...Object.keys(stack).filter((limit) => limit !== "speedup")];
  let [up, down] = [0, 0];
  return order.flatMap((limit) => {
    const value = stack[limit] ?? 0;
    if (value === 0) return [];
    const from = value > 0 ? up : down;
    if (value > 0) up += value;
    else down += value;
    return [{ limit, from, to: from + value }];
  });
}

/** The speedup stack at each number of threads. */
export function Stacks({ page }: { page: SweepPage }) {
  const rows = page.rows.filter((row) => Object.keys(row.stack).length > 0);
  const limits = Object.keys(page.labels).filter((limit) => rows.some((row) => (row.stack[limit] ?? 0) !== 0));
  const figures: Figure[] = ["speedup", ...limits.filter((limit) => limit !== "speedup")].map((limit) => ({
    label: page.labels[limit] ?? limit,
    cells: rows.map((row) => <Ratio key={row.threads} value={row.stack[limit] ?? 0} />),
  }));
  return (
    <Section id="stack" title="Where the threads go" lead={rows.length > 0 ? LEAD : undefined}>
      {rows.length > 0 ? (
        <>
          <Bars rows={rows} page={page} />
          <p class="legend">
            {["speedup", ...limits.filter((limit) => limit !== "speedup")].map((limit) => (
              <span class="key" key={limit}>
                <span class="swatch" style={{ background: colourOf(limit) }} />
                {page.labels[limit] ?? limit}
              </span>
            ))}
          </p>
          <FiguresBelow rows={rows} figures={figures} name="stack" label="where the threads go" />
        </>
      ) : (
        <Missing reason="No run took any time, so nothing can be divided." />
      )}
    </Section>
  );
}

export const colourOf = (limit: string) => `var(--limit-${limit.replaceAll("_", "-")}, var(--muted))`;

function describe(row: SweepRow, page: SweepPage): string {
  const threads = row.threads === 1 ? "1 thread" : `${row.threads} threads`;
  const parts = segments(row.stack).map((s) => `${page.labels[s.limit] ?? s.limit} ${ratio(s.to - s.from)}`);
  return `${threads}: ${parts.join(", ")}`;
}

function Bars({ rows, page }: { rows: SweepRow[]; page: SweepPage }) {
  const all = rows.map((row) => segments(row.stack));
  const ends = all.flat().flatMap((s) => [s.from, s.to]);
  const [low, high] = [Math.min(0, ...ends), Math.max(1, ...ends)];
  const columns = rows.map(
    (row, i): Column => ({
      key: row.threads,
      name: String(row.threads),
      said: describe(row, page),
      draw: (place) => <Segments segments={all[i] ?? []} place={place} />,
    }),
  );
  return (
    <Columns
      columns={columns}
      height={HEIGHT}
      least={30}
      range={[low, high]}
      lines={ticks(low, high, 6).map((mark) => ({ value: mark, text: ratio(mark).replace(/\.00$/, "") }))}
      axis="threads"
      label="Speedup stacks"
    />
  );
}

function Segments({ segments: parts, place: { x, slot, y } }: { segments: Segment[]; place: Place }) {
  const bar = Math.min(90, slot * 0.7);
  return (
    <>
      {parts.map((s) => (
        <rect
          key={s.limit}
          class="segment"
          data-limit={s.limit}
          x={x - bar / 2}
          y={y(Math.max(s.from, s.to))}
          width={bar}
          height={Math.abs(y(s.from) - y(s.to))}
          style={{ fill: colourOf(s.limit) }}
        />
      ))}
    </>
  );
}
