// What the speedup would be without two limits at once, where both together give more than the better one alone.

import type { SweepRow } from "../payload/sweep";
import { Ratio, ShownFigures } from "./figures";

const SHOWN = 6;
/** Below this more of a speedup, a second limit gives nothing. */
const LEAST = 0.005;

/** Two limits, and the speedup without both. */
export interface PairRow {
  limits: [string, string];
  /** By number of threads; null where one of the limits is not known. */
  values: (number | null)[];
}

/** The pairs that give most at the most threads, the best first. */
export function pairsOf(rows: SweepRow[]): PairRow[] {
  const last = rows[rows.length - 1];
  if (!last) return [];
  // A group (more instructions) stands for its parts in both fractions, as it gives what both give.
  const isPart = (limit: string) => {
    const group = limit.replace(/^(sequential|parallel)_/, "");
    return group !== limit && group in last.possible;
  };
  const alone = (limits: string[]) => Math.max(...limits.map((limit) => last.possible[limit] ?? 0));
  return last.pairs
    .filter(({ limits, speedup }) => !limits.some(isPart) && speedup > alone(limits) + LEAST)
    .sort((a, b) => b.speedup - a.speedup)
    .slice(0, SHOWN)
    .map(({ limits }) => ({ limits, values: rows.map((row) => speedupOf(row, limits)) }));
}

function speedupOf(row: SweepRow, [one, other]: [string, string]): number | null {
  return row.pairs.find(({ limits: [a, b] }) => a === one && b === other)?.speedup ?? null;
}

/** The pairs of limits that give most. */
export function Pairs({ rows, labels }: { rows: SweepRow[]; labels: Record<string, string> }) {
  const pairs = pairsOf(rows);
  if (pairs.length === 0) return null;
  const figures = pairs.map(({ limits, values }) => ({
    label: limits.map((limit) => labels[limit] ?? limit).join(" and "),
    cells: values.map((value, i) => <Ratio key={rows[i]?.threads} value={value} />),
  }));
  return (
    <>
      <h3>Without two limits at once</h3>
      <ShownFigures
        rows={rows}
        figures={figures}
        name="pairs"
        label="Speedup without two limits by number of threads"
      />
    </>
  );
}
