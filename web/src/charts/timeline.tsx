// Active (or running) threads over time, stacked by kind: mean per bin, so steps and not slopes.
import { useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import { KINDS, type Kind } from "../payload/common";
import type { Payload, Profile } from "../payload/recording";
import { Rounded } from "../ui/figure";
import { duration, integer, moment, number3 } from "../ui/format";
import { Missing, Section, TableAlternative } from "../ui/section";
import type { Span } from "../ui/span";
import { type Theme, useTheme } from "../ui/theme";
import { type Painter, Stacked } from "./stacked";

export const KIND_NAMES: Record<Kind, string> = { app: "application", gc: "GC", jit: "JIT", vm: "VM" };
type Measure = "active" | "running";

interface Props {
  payload: Payload;
  span: Span;
  onSpan: (span: Span) => void;
}

/** Active or running threads over time, by kind. */
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

interface ChartProps extends Props {
  profile: Profile;
  measure: Measure;
}

function Chart({ payload, profile, measure, span, onSpan }: ChartProps) {
  const theme = useTheme();
  const [at, setAt] = useState<number | null>(null);
  const layers = useMemo(
    () => KINDS.map((kind) => ({ label: KIND_NAMES[kind], values: profile[measure][kind], fill: theme[kind] })),
    [profile, measure, theme],
  );
  const under = useMemo<Painter>(() => (u, colours) => drawPauses(u, payload, colours), [payload]);
  const over = useMemo<Painter>(() => (u, colours) => drawStrip(u, payload, colours), [payload]);
  return (
    <>
      <Stacked
        label={`${measure === "active" ? "Active" : "Running"} threads over time, by kind.`}
        bins={profile}
        layers={layers}
        cores={payload.recorded_cores}
        wall_ns={payload.wall_ns}
        {...{ span, onSpan, at, onAt: setAt, under, over }}
      />
      <Readout payload={payload} profile={profile} measure={measure} at={at} />
    </>
  );
}

function drawPauses(u: uPlot, payload: Payload, theme: Theme): void {
  eachPause(
    u,
    payload,
    (from, width) => u.ctx.fillRect(from, u.bbox.top, Math.max(1, width), u.bbox.height),
    theme.pause,
  );
}

/** The pauses again, as a strip above everything: behind full areas they would not be seen. */
function drawStrip(u: uPlot, payload: Payload, theme: Theme): void {
  const ratio = devicePixelRatio;
  eachPause(u, payload, (from, width) => u.ctx.fillRect(from, u.bbox.top, Math.max(ratio, width), 5 * ratio), theme.gc);
}

function eachPause(u: uPlot, payload: Payload, paint: (from: number, width: number) => void, colour: string): void {
  const { left, width } = u.bbox;
  u.ctx.save();
  u.ctx.fillStyle = colour;
  for (const [start, dur, kind] of payload.phases.items) {
    if (kind !== "gc_pause") continue;
    const a = Math.max(left, u.valToPos(start, "x", true));
    const b = Math.min(left + width, u.valToPos(start + dur, "x", true));
    if (b > a) paint(a, b - a);
  }
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
