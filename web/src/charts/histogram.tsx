// T_j: for how long were exactly j threads active, or running. Bars, with a tick where the host's theft is taken out.

import { KINDS } from "../payload/common";
import type { LevelRow, Parallelism, Payload } from "../payload/recording";
import { Duration, MaybeDuration, Percent } from "../ui/figure";
import { duration, percent } from "../ui/format";
import { coresText } from "../ui/page";
import { Missing, Section, TableAlternative } from "../ui/section";
import { useWidth } from "../ui/width";
import { type Column, Columns, columnsThatFit, type Place } from "./columns";
import { KIND_NAMES } from "./timeline";

const HEIGHT = 240;
const LEAST = 14;

export const levelName = (level: LevelRow) => (level.from === level.to ? `${level.from}` : `${level.from}–${level.to}`);

/** Wall time by number of active, or running, threads. */
export function Histogram({ payload }: { payload: Payload }) {
  const parallelism = payload.parallelism;
  return (
    <Section
      id="levels"
      title="How many threads at a time"
      lead="The share of the wall time with exactly so many threads active, and with so many on a CPU. Only levels above the number of cores gain from more cores."
    >
      {parallelism && parallelism.wall_ns > 0 ? (
        <>
          <Bars parallelism={parallelism} cores={payload.recorded_cores} />
          <LevelTable parallelism={parallelism} />
        </>
      ) : (
        <Missing reason={payload.missing.parallelism ?? "The recording is empty: it holds no span of time."} />
      )}
    </Section>
  );
}

/** Levels that are drawn as one column each: where they are more than fit, some neighbours together. None has a thread active. */
export function merged(levels: LevelRow[], most: number): LevelRow[] {
  const [none, ...some] = levels;
  const together = Math.ceil(some.length / Math.max(1, most - 1));
  if (!none || together < 2) return levels;
  const groups = Array.from({ length: Math.ceil(some.length / together) }, (_, i) =>
    some.slice(i * together, (i + 1) * together),
  );
  return [none, ...groups.map(sumOf)];
}

function sumOf(group: LevelRow[]): LevelRow {
  const first = group[0] as LevelRow;
  const last = group[group.length - 1] as LevelRow;
  const sum = (of: (level: LevelRow) => number) => group.reduce((total, level) => total + of(level), 0);
  const known = (of: (level: LevelRow) => number | null) =>
    group.some((level) => of(level) === null) ? null : sum((level) => of(level) ?? 0);
  return {
    from: first.from,
    to: last.to,
    active_ns: sum((level) => level.active_ns),
    active_corrected_ns: known((level) => level.active_corrected_ns),
    running_ns: sum((level) => level.running_ns),
    running_corrected_ns: known((level) => level.running_corrected_ns),
    by_kind: Object.fromEntries(
      KINDS.map((kind) => [kind, sum((level) => level.by_kind[kind])]),
    ) as LevelRow["by_kind"],
  };
}

function describe(level: LevelRow, wall_ns: number): string {
  const threads = level.to === 1 ? "1 thread" : `${levelName(level)} threads`;
  const corrected =
    level.active_corrected_ns === null ? "" : ` (${duration(level.active_corrected_ns)} without stolen time)`;
  return (
    `${threads}: active for ${duration(level.active_ns)}, ${percent(level.active_ns / wall_ns)}${corrected}; ` +
    `running for ${duration(level.running_ns)}, ${percent(level.running_ns / wall_ns)}`
  );
}

function Bars({ parallelism, cores }: { parallelism: Parallelism; cores: number | null }) {
  const { wall_ns } = parallelism;
  const [holder, room] = useWidth<HTMLDivElement>();
  const levels = room > 0 ? merged(parallelism.levels, columnsThatFit(room, LEAST)) : parallelism.levels;
  const top = Math.max(0.05, ...levels.map((l) => Math.max(l.active_ns, l.running_ns) / wall_ns));
  const step = top > 0.5 ? 0.2 : top > 0.2 ? 0.1 : 0.05;
  const max = Math.ceil(top / step - 1e-9) * step;
  const shares = Array.from({ length: Math.round(max / step) + 1 }, (_, i) => i * step);
  const columns = levels.map(
    (level): Column => ({
      key: level.from,
      name: levelName(level),
      isStrong: cores !== null && level.from <= cores && cores <= level.to,
      said: describe(level, wall_ns),
      draw: (place) => <Level level={level} wall_ns={wall_ns} place={place} />,
    }),
  );
  return (
    <div ref={holder}>
      <Columns
        columns={columns}
        height={HEIGHT}
        least={LEAST}
        range={[0, max]}
        lines={shares.map((share) => ({ value: share, text: `${Math.round(share * 100)}%` }))}
        axis="threads"
        label="Share of the wall time by number of threads"
      />
      <p class="legend">
        <span class="key">
          <span class="swatch" style={{ background: "var(--app)" }} />
          active (running or runnable)
        </span>
        <span class="key">
          <span class="swatch" style={{ background: "var(--running)" }} />
          running
        </span>
        {parallelism.corrected_wall_ns !== null && (
          <span class="key">
            <span class="swatch tick" />
            active, without stolen time
          </span>
        )}
        {cores !== null && <span class="at">recorded on {coresText(cores)}</span>}
      </p>
    </div>
  );
}

function Level({ level, wall_ns, place: { x, slot, y } }: { level: LevelRow; wall_ns: number; place: Place }) {
  const bar = Math.min(34, slot * 0.38);
  const corrected = level.active_corrected_ns;
  return (
    <>
      <Bar x={x - bar} width={bar} share={level.active_ns / wall_ns} y={y} name="active" />
      <Bar x={x} width={bar} share={level.running_ns / wall_ns} y={y} name="running" />
      {corrected !== null && level.active_ns > 0 && (
        <line class="corrected" x1={x - bar - 1} x2={x} y1={y(corrected / wall_ns)} y2={y(corrected / wall_ns)} />
      )}
    </>
  );
}

interface BarProps {
  x: number;
  width: number;
  share: number;
  y: (share: number) => number;
  name: string;
}

function Bar({ x, width, share, y, name }: BarProps) {
  // A level that was reached must be seen, however short it was.
  const height = share > 0 ? Math.max(1, y(0) - y(share)) : 0;
  return <rect class={`bar ${name}`} x={x} y={y(0) - height} width={Math.max(1, width - 1)} height={height} />;
}

function LevelTable({ parallelism }: { parallelism: Parallelism }) {
  return (
    <TableAlternative label="Table: wall time at each number of threads">
      {() => (
        <table id="level-table">
          <thead>
            <tr>
              <th scope="col">threads</th>
              <th scope="col">active</th>
              <th scope="col">share</th>
              <th scope="col">without stolen time</th>
              <th scope="col">running</th>
              <th scope="col">without stolen time</th>
              {KINDS.map((kind) => (
                <th scope="col" key={kind}>
                  {KIND_NAMES[kind]} active
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {parallelism.levels.map((level) => (
              <tr key={level.from}>
                <th scope="row">{levelName(level)}</th>
                <td>
                  <Duration value={level.active_ns} />
                </td>
                <td>
                  <Percent value={level.active_ns / parallelism.wall_ns} />
                </td>
                <td>
                  <MaybeDuration value={level.active_corrected_ns} />
                </td>
                <td>
                  <Duration value={level.running_ns} />
                </td>
                <td>
                  <MaybeDuration value={level.running_corrected_ns} />
                </td>
                {KINDS.map((kind) => (
                  <td key={kind}>
                    <Duration value={level.by_kind[kind]} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableAlternative>
  );
}
