// T_j: for how long were exactly j threads active, or running. Bars, with a tick where the host's theft is taken out.
import { duration, percent } from "../format";
import { Duration, MaybeDuration, Percent } from "../parts/figure";
import { Missing, Section, TableAlternative } from "../parts/section";
import { KINDS, type LevelRow, type Parallelism, type Payload } from "../payload";
import { useRoving } from "./roving";
import { KIND_NAMES } from "./timeline";
import { useWidth } from "./width";

const HEIGHT = 240;
const PAD = { top: 16, right: 8, bottom: 40, left: 44 };

export const levelName = (level: LevelRow) => (level.from === level.to ? `${level.from}` : `${level.from}–${level.to}`);

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
  const [holder, room] = useWidth<HTMLDivElement>();
  const { levels, wall_ns } = parallelism;
  const roving = useRoving(levels.length);
  const width = Math.max(room, PAD.left + PAD.right + levels.length * 14);
  const slot = (width - PAD.left - PAD.right) / levels.length;
  const top = Math.max(0.05, ...levels.map((l) => Math.max(l.active_ns, l.running_ns) / wall_ns));
  const step = top > 0.5 ? 0.2 : top > 0.2 ? 0.1 : 0.05;
  const max = Math.ceil(top / step - 1e-9) * step;
  const y = (share: number) => HEIGHT - PAD.bottom - (share / max) * (HEIGHT - PAD.top - PAD.bottom);
  const lines = Array.from({ length: Math.round(max / step) + 1 }, (_, i) => i * step);
  const bar = Math.min(34, slot * 0.38);
  const every = Math.ceil(26 / slot);
  return (
    <>
      <div
        class="svg-holder"
        ref={holder}
        {...(width > room ? { tabIndex: 0, role: "region", "aria-label": "Levels" } : {})}
      >
        {room > 0 && (
          <svg
            width={width}
            height={HEIGHT}
            role="group"
            aria-label="Share of the wall time by number of threads"
            onKeyDown={roving.onKeyDown}
          >
            {lines.map((share) => (
              <g key={share} class="grid" aria-hidden="true">
                <line x1={PAD.left} x2={width - PAD.right} y1={y(share)} y2={y(share)} />
                <text x={PAD.left - 6} y={y(share)} text-anchor="end" dominant-baseline="middle">
                  {Math.round(share * 100)}%
                </text>
              </g>
            ))}
            {levels.map((level, i) => {
              const x = PAD.left + i * slot + slot / 2;
              return (
                <g
                  key={level.from}
                  class="mark"
                  data-mark={i}
                  role="img"
                  tabIndex={roving.tabIndex(i)}
                  aria-label={describe(level, wall_ns)}
                  onFocus={() => roving.onFocus(i)}
                >
                  <title>{describe(level, wall_ns)}</title>
                  <rect
                    class="hit"
                    x={x - slot / 2}
                    y={PAD.top}
                    width={slot}
                    height={HEIGHT - PAD.top - PAD.bottom + 18}
                  />
                  <Bar x={x - bar} width={bar} share={level.active_ns / wall_ns} y={y} name="active" />
                  <Bar x={x} width={bar} share={level.running_ns / wall_ns} y={y} name="running" />
                  {level.active_corrected_ns !== null && level.active_ns > 0 && (
                    <line
                      class="corrected"
                      x1={x - bar - 1}
                      x2={x}
                      y1={y(level.active_corrected_ns / wall_ns)}
                      y2={y(level.active_corrected_ns / wall_ns)}
                    />
                  )}
                  {i % every === 0 && (
                    <text class={level.from === cores ? "label strong" : "label"} x={x} y={HEIGHT - PAD.bottom + 16}>
                      {levelName(level)}
                    </text>
                  )}
                </g>
              );
            })}
            <text class="axis-name" x={PAD.left + (width - PAD.left - PAD.right) / 2} y={HEIGHT - 4}>
              threads
            </text>
          </svg>
        )}
      </div>
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
        {cores !== null && <span class="at">recorded on {cores === 1 ? "1 core" : `${cores} cores`}</span>}
      </p>
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
