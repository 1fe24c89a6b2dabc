// What the runs cost: time with and without recording, and the general metrics, over the numbers of threads.
import { useMemo, useState } from "preact/hooks";
import type { Metrics, SweepPage } from "../payload/sweep";
import { MaybeDuration } from "../ui/figure";
import { duration, number3, prefixOf, tick } from "../ui/format";
import { Missing, Section } from "../ui/section";
import { type Figure, FiguresBelow, Unknown } from "./figures";
import { type Line, Lines } from "./lines";

type Key = keyof Metrics;

const NAMES: [Key, string][] = [
  ["cpu_ns", "CPU time"],
  ["instructions", "instructions"],
  ["cycles", "cycles"],
  ["cpi", "cycles per instruction"],
  ["cache_misses", "cache misses"],
];

const count = (value: number) => {
  const [scale, prefix] = prefixOf(value);
  return `${tick(value / scale)}${prefix && ` ${prefix}`}`;
};
const formatOf = (key: Key) => (key.endsWith("_ns") ? duration : key === "cpi" ? number3 : count);

function same(page: SweepPage, key: Key): (number | null)[] {
  return page.rows.map(() => page.sequential[key]);
}

/** Wall times of both programs by number of threads. */
export function Times({ page }: { page: SweepPage }) {
  const threads = useMemo(() => page.rows.map((row) => row.threads), [page]);
  const lines = useMemo((): Line[] => {
    const of = (key: Key) => page.rows.map((row) => row.metrics[key]);
    const all: Line[] = [
      { label: "recorded", colour: "app", values: of("recorded_wall_ns") },
      { label: "not recorded", colour: "text", values: of("plain_wall_ns") },
      {
        label: "sequential, recorded",
        colour: "app",
        values: same(page, "recorded_wall_ns"),
        dash: [5, 4],
        isLevel: true,
        width: 1.5,
      },
      {
        label: "sequential, not recorded",
        colour: "text",
        values: same(page, "plain_wall_ns"),
        dash: [2, 3],
        isLevel: true,
        width: 1.5,
      },
    ];
    return all.filter((line) => line.values.some((value) => value !== null));
  }, [page]);
  const figures: Figure[] = (["recorded_wall_ns", "plain_wall_ns"] as const).map((key) => ({
    label: key === "recorded_wall_ns" ? "recorded" : "not recorded",
    cells: page.rows.map((row) => <MaybeDuration key={row.threads} value={row.metrics[key]} />),
  }));
  return (
    <Section
      id="times"
      title="Execution time, recorded and not"
      lead={
        lines.length > 0 ? "Means of the whole command. What lies between the two is what recording costs." : undefined
      }
    >
      {lines.length > 0 ? (
        <>
          <Lines threads={threads} lines={lines} label="Execution time over threads" format={duration} />
          <FiguresBelow rows={page.rows} figures={figures} name="times" label="execution times" />
        </>
      ) : (
        <Missing reason="A part of the runs has no execution time of its own." />
      )}
    </Section>
  );
}

/** One metric of the runs by number of threads, to choose. */
export function GeneralMetrics({ page }: { page: SweepPage }) {
  const known = NAMES.filter(([key]) => page.rows.some((row) => row.metrics[key] !== null));
  const [chosen, setChosen] = useState<Key>("cpu_ns");
  const key = known.some(([each]) => each === chosen) ? chosen : known[0]?.[0];
  const threads = useMemo(() => page.rows.map((row) => row.threads), [page]);
  const lines = useMemo((): Line[] => {
    if (!key) return [];
    const all: Line[] = [
      { label: "parallel", colour: "app", values: page.rows.map((row) => row.metrics[key]) },
      { label: "sequential", colour: "text", values: same(page, key), dash: [5, 4], isLevel: true, width: 1.5 },
    ];
    return all.filter((line) => line.values.some((value) => value !== null));
  }, [page, key]);
  const figures: Figure[] = known.map(([each, label]) => ({
    label,
    cells: page.rows.map((row) => <Metric key={row.threads} value={row.metrics[each]} format={formatOf(each)} />),
  }));
  return (
    <Section
      id="metrics"
      title="What the work costs"
      lead={
        page.counters
          ? "The same work needs more than in the sequential program where the line rises."
          : "CPU time stands for cycles: cycles and instructions are not both known, which would tell more instructions from slower ones."
      }
    >
      {key ? (
        <>
          {known.length > 1 && (
            <fieldset class="choice">
              <legend class="sr-only">Which metric</legend>
              {known.map(([each, label]) => (
                <label key={each}>
                  <input type="radio" name="metric" checked={each === key} onChange={() => setChosen(each)} />
                  {label}
                </label>
              ))}
            </fieldset>
          )}
          <Lines threads={threads} lines={lines} label="Metric over threads" format={formatOf(key)} />
          <FiguresBelow rows={page.rows} figures={figures} name="metrics" label="metrics" />
        </>
      ) : (
        <Missing reason="No CPU time is known of these runs." />
      )}
    </Section>
  );
}

function Metric({ value, format }: { value: number | null; format: (value: number) => string }) {
  return value === null ? <Unknown /> : <data value={String(value)}>{format(value)}</data>;
}
