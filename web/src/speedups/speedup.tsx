// Real, computed and possible speedups over the numbers of threads.
import { useMemo, useState } from "preact/hooks";
import type { RegionRow, SweepPage, SweepRow } from "../payload/sweep";
import { Section } from "../ui/section";
import type { Theme } from "../ui/theme";
import { type Figure, FiguresBelow, Ratio, ratio } from "./figures";
import { type Line, Lines } from "./lines";
import { Pairs } from "./pairs";

const LEAD =
  "Real: of runs that were not recorded. Computed: from the recorded runs, with its 95 % interval. Without a limit: what the speedup would be if nothing were lost to it, with the interval of that.";
/** Colours of possible speedups, in order of gain. */
const COLOURS: (keyof Theme)[] = ["gc", "jit", "runnable", "other", "vm"];
const SHOWN = 3;

/** The rows of the program, or of one of its regions by itself: which has no real speedup, and no pairs of limits. */
export function rowsOf(page: SweepPage, region: string): SweepRow[] {
  if (region === "") return page.rows;
  return page.rows.flatMap((row) => {
    const part: RegionRow | undefined = row.regions.find((each) => each.name === region);
    return part ? [{ ...row, ...part, real_speedup: null, real_low: null, real_high: null, pairs: [] }] : [];
  });
}

/** Limits by what removing them would give at the most threads, the largest first; those that give nothing are left out. */
export function byGain(rows: SweepRow[]): string[] {
  const last = rows[rows.length - 1];
  if (!last) return [];
  const gain = (limit: string) => (last.possible[limit] ?? 0) - last.computed_speedup;
  const known = Object.keys(last.possible).filter((limit) => limit !== "all" && gain(limit) > 0.005);
  return known.sort((a, b) => gain(b) - gain(a));
}

/** Real, computed and possible speedups by number of threads. */
export function SpeedupChart({ page }: { page: SweepPage }) {
  const [region, setRegion] = useState("");
  const rows = useMemo(() => rowsOf(page, region), [page, region]);
  const limits = useMemo(() => byGain(rows), [rows]);
  const [hidden, setHidden] = useState<string[] | null>(null);
  const drawn = limits.filter((limit, i) => (hidden ? !hidden.includes(limit) : i < SHOWN)).slice(0, COLOURS.length);
  const threads = useMemo(() => rows.map((row) => row.threads), [rows]);
  const key = drawn.join();
  const lines = useMemo(() => linesOf(rows, drawn, page.labels), [rows, key, page]);
  const toggle = (limit: string) => {
    const now = hidden ?? limits.slice(SHOWN);
    setHidden(now.includes(limit) ? now.filter((each) => each !== limit) : [...now, limit]);
  };
  return (
    <Section id="speedup" title="Speedup" lead={LEAD}>
      {page.region === null && page.regions.length > 0 && (
        <div class="toolbar">
          <label>
            <span>Of</span>
            <select value={region} onChange={(event) => setRegion(event.currentTarget.value)}>
              <option value="">the whole program</option>
              {page.regions.map((name) => (
                <option key={name} value={name}>
                  region {name}
                </option>
              ))}
            </select>
          </label>
        </div>
      )}
      <Lines threads={threads} lines={lines} label="Speedup over threads" format={ratio} />
      {limits.length > 0 && (
        <fieldset class="choice">
          <legend>Show the speedup without</legend>
          {limits.map((limit) => (
            <label key={limit}>
              <input
                type="checkbox"
                checked={drawn.includes(limit)}
                disabled={!drawn.includes(limit) && drawn.length >= COLOURS.length}
                onChange={() => toggle(limit)}
              />
              {page.labels[limit] ?? limit}
            </label>
          ))}
        </fieldset>
      )}
      <FiguresBelow
        rows={rows}
        figures={figuresOf(rows, page)}
        name="speedups"
        label="real, computed and possible speedups"
      />
      <Pairs rows={rows} labels={page.labels} />
    </Section>
  );
}

/** Where the speedup without a limit lies with 95 %: its low or its high end; null where that is not known. */
export function bound(row: SweepRow, limit: string, end: 0 | 1): number | null {
  return row.possible_intervals[limit]?.[end] ?? null;
}

/** Return the lines of the chart: real, computed, and possible without each limit. */
export function linesOf(rows: SweepRow[], limits: string[], labels: Record<string, string>): Line[] {
  const of = (pick: (row: SweepRow) => number | null | undefined) => rows.map((row) => pick(row) ?? null);
  const real: Line = {
    ...{ label: "real", colour: "text", values: of((row) => row.real_speedup), width: 2.5 },
    ...{ low: of((row) => row.real_low), high: of((row) => row.real_high) },
  };
  return [
    { label: "one core for each thread", colour: "muted", values: of((row) => row.threads), dash: [5, 4], width: 1.5 },
    ...(real.values.some((value) => value !== null) ? [real] : []),
    {
      ...{ label: "computed", colour: "app", values: of((row) => row.computed_speedup) },
      ...{ low: of((row) => row.low), high: of((row) => row.high) },
    },
    ...limits.map((limit, i): Line => {
      const colour = COLOURS[i] ?? "vm";
      return {
        ...{ label: `without ${labels[limit] ?? limit}`, colour, values: of((row) => row.possible[limit]) },
        ...{ low: of((row) => bound(row, limit, 0)), high: of((row) => bound(row, limit, 1)) },
      };
    }),
  ];
}

function figuresOf(rows: SweepRow[], page: SweepPage): Figure[] {
  const figure = (label: string, pick: (row: SweepRow) => number | null | undefined): Figure => ({
    label,
    cells: rows.map((row) => <Ratio key={row.threads} value={pick(row)} />),
  });
  const limits = Object.keys(page.labels).filter((limit) => rows.some((row) => (row.possible[limit] ?? null) !== null));
  return [
    figure("real", (row) => row.real_speedup),
    figure("real, from", (row) => row.real_low),
    figure("real, to", (row) => row.real_high),
    figure("computed", (row) => row.computed_speedup),
    figure("computed, from", (row) => row.low),
    figure("computed, to", (row) => row.high),
    ...limits.flatMap((limit) => {
      const name = `without ${page.labels[limit]}`;
      const known = rows.some((row) => bound(row, limit, 0) !== null);
      return [
        figure(name, (row) => row.possible[limit]),
        ...(known ? [figure(`${name}, from`, (row) => bound(row, limit, 0))] : []),
        ...(known ? [figure(`${name}, to`, (row) => bound(row, limit, 1))] : []),
      ];
    }),
  ];
}
