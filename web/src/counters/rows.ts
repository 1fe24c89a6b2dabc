// What the table of counters shows: columns that can be sorted by, and figures as people read them.
import type { CountedFigure, CountedThread, CountersView } from "../payload/counters";

/** A column: what it is called, and a row's value in it, by which rows are sorted; null is not known. */
export interface Column {
  name: string;
  isText: boolean;
  value: (row: CountedThread) => string | number | null;
}

/** The columns of a view: who, how long, each event and each ratio. */
export function columnsOf(view: CountersView): Column[] {
  return [
    { name: "thread", isText: true, value: (row) => row.name },
    { name: "kind", isText: true, value: (row) => row.kind },
    { name: "tid", isText: false, value: (row) => row.tid },
    { name: "running", isText: false, value: (row) => row.running_ns },
    ...view.events.map((name, i) => ({
      name,
      isText: false,
      value: (row: CountedThread) => row.counts[i]?.value ?? null,
    })),
    ...view.metrics.map((name, i) => ({
      name,
      isText: false,
      value: (row: CountedThread) => row.metrics[i]?.value ?? null,
    })),
  ];
}

/** Rows in an order; what is not known comes last, whichever way. */
export function sorted(rows: readonly CountedThread[], column: Column, descending: boolean): CountedThread[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const a = column.value(one);
    const b = column.value(other);
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    if (typeof a === "string" || typeof b === "string") return sign * String(a).localeCompare(String(b));
    return sign * (a - b);
  });
}

/** What stands before a figure: nothing where it is exact, "≥" where it is the least that there was, "~" else. */
export function mark(figure: CountedFigure): string {
  if (figure.high === null && figure.low !== null) return "≥";
  return figure.low !== null && figure.low === figure.high ? "" : "~";
}

/** The figure that is shown: the least that there was, where nothing bounds it above. */
export function shownValue(figure: CountedFigure): number | null {
  if (figure.value === null) return null;
  return figure.high === null && figure.low !== null ? figure.low : figure.value;
}

/** Whether an event counts ns of running time: 1,000 M a second are one core. */
export const isClock = (event: string): boolean => /^(task|cpu)-clock(:[uk])?$/.test(event);
