// The cores over time: stacked up to their number. Below it the phases, in line with the time; one can be chosen.

import { useMemo, useState } from "preact/hooks";
import { type Painter, Stacked } from "../charts/stacked";
import type { Phase, WhyView } from "../payload/lost_cores";
import { duration, integer, moment, number3, percent } from "../ui/format";
import { Head } from "../ui/head";
import { coresText } from "../ui/page";
import { useRoving } from "../ui/roving";
import { TableAlternative } from "../ui/section";
import type { Span } from "../ui/span";
import type { Theme } from "../ui/theme";
import { useWidth } from "../ui/width";
import { Swatch, useFills } from "./paint";
import { binsOf, coresIn, type Part, partsOf, within } from "./parts";

interface Props {
  view: WhyView;
  wall_ns: number;
  span: Span;
  onSpan: (span: Span) => void;
  /** The phase on show: its place in `view.phases`; null: the whole recording. */
  phase: number | null;
  onPhase: (phase: number | null) => void;
}

/** Where the cores went over time, with the phases below. */
export function OverTime({ view, wall_ns, span, onSpan, phase, onPhase }: Props) {
  const [at, setAt] = useState<number | null>(null);
  const parts = useMemo(() => partsOf(view.account), [view]);
  const bins = useMemo(() => binsOf(view), [view]);
  const fills = useFills(parts);
  const layers = useMemo(
    () =>
      parts.map((part, i) => ({
        label: part.title,
        values: coresIn(view.bins[part.key], bins.dur_ns),
        fill: fills[i] ?? "",
      })),
    [view, parts, bins, fills],
  );
  const over = useMemo<Painter>(() => (u, theme) => drawPhases(u, view.phases, phase, theme), [view, phase]);
  const means = at === null ? null : layers.map(({ values }) => values[at] ?? 0);
  const whole = view.account.end_ns - view.account.start_ns;
  return (
    <>
      <Stacked
        label={`How ${coresText(view.account.cores)} ${view.account.cores === 1 ? "was" : "were"} used, and what cores were lost to, over time.`}
        bins={bins}
        layers={layers}
        cores={view.account.cores}
        {...{ wall_ns, span, onSpan, at, onAt: setAt, over }}
      />
      <Phases phases={view.phases} span={span} chosen={phase} onChoose={onPhase} />
      <p class="legend">
        {parts.map((part, i) => (
          <span class="key" key={part.key}>
            <Swatch part={part} />
            {part.title}
            <b class="mean">{coresNumber(means?.[i] ?? (whole > 0 ? part.ns / whole : 0))}</b>
          </span>
        ))}
      </p>
      <p class="said" aria-live="polite">
        {at === null || means === null
          ? `Mean numbers of cores over all of it. Hatched: lost. Bins of ${duration(view.bin_ns)}; drag to zoom.`
          : `${moment(bins.start_ns[at] ?? 0, bins.dur_ns[at] ?? 1)} + ${duration(bins.dur_ns[at] ?? 0)}: ${said(parts, means)}`}
      </p>
      <BinTable parts={parts} view={view} bins={bins} />
    </>
  );
}

/** A number of cores; "<0.01" rather than a false zero. */
const coresNumber = (cores: number) => (cores > 0 && cores < 0.005 ? "<0.01" : number3(cores));

/** "application 1.50, lock contention 0.50": what there is of, the most first. */
function said(parts: readonly Part[], means: readonly number[]): string {
  const seen = parts
    .map(({ title }, i) => ({ title, mean: means[i] ?? 0 }))
    .filter(({ mean }) => mean >= 0.005)
    .sort((a, b) => b.mean - a.mean);
  return seen.length > 0 ? seen.map(({ title, mean }) => `${title} ${number3(mean)}`).join(", ") : "nothing";
}

function drawPhases(u: uPlot, phases: readonly Phase[], chosen: number | null, theme: Theme): void {
  const { left, top, width, height } = u.bbox;
  const x = (t: number) => Math.min(left + width, Math.max(left, u.valToPos(t, "x", true)));
  u.ctx.save();
  u.ctx.strokeStyle = theme.text;
  u.ctx.fillStyle = theme.surface; // the others fade
  u.ctx.lineWidth = devicePixelRatio;
  phases.forEach(({ account }, i) => {
    const [a, b] = [x(account.start_ns), x(account.end_ns)];
    u.ctx.globalAlpha = 0.45;
    if (a > left && a < left + width) u.ctx.strokeRect(Math.round(a), top, 0, height);
    u.ctx.globalAlpha = 0.72;
    if (chosen !== null && i !== chosen) u.ctx.fillRect(a, top, b - a, height);
  });
  u.ctx.restore();
}

interface PhasesProps {
  phases: readonly Phase[];
  span: Span;
  chosen: number | null;
  onChoose: (phase: number | null) => void;
}

/** Return a phase in one line: when, how parallel, how much was lost. */
export function phaseText({ number, active, account }: Phase): string {
  const length = account.end_ns - account.start_ns;
  return (
    `Phase ${integer(number)}: ${moment(account.start_ns, length / 100)} to ${moment(account.end_ns, length / 100)}, ` +
    `${number3(active)} threads active, ${percent(account.core_ns > 0 ? account.lost_ns / account.core_ns : 0)} lost`
  );
}

function Phases({ phases, span, chosen, onChoose }: PhasesProps) {
  const roving = useRoving(phases.length);
  const [holder, room] = useWidth<HTMLDivElement>();
  if (phases.length < 2) return null;
  return (
    <div
      class="phases"
      ref={holder}
      role="group"
      aria-label="Phases: choose one to see its account"
      onKeyDown={roving.onKeyDown}
    >
      {phases.map((phase, i) => {
        const place = within(phase.account.start_ns, phase.account.end_ns, span);
        return (
          <button
            key={phase.number}
            type="button"
            data-mark={i}
            hidden={place === null}
            style={place ? { left: `${place.left}%`, width: `${place.width}%` } : {}}
            tabIndex={roving.tabIndex(i)}
            aria-pressed={i === chosen}
            aria-label={phaseText(phase)}
            title={phaseText(phase)}
            onFocus={() => roving.onFocus(i)}
            onClick={() => onChoose(i === chosen ? null : i)}
          >
            {place && hasRoom(phase.number, (place.width / 100) * room) && phase.number}
          </button>
        );
      })}
    </div>
  );
}

/** Whether a number fits on a button of a width in pixels: on a narrow one it would be cut, or run into the next. */
export const hasRoom = (number: number, width: number) => width >= 8 * String(number).length + 4;

function BinTable({ parts, view, bins }: { parts: readonly Part[]; view: WhyView; bins: ReturnType<typeof binsOf> }) {
  return (
    <TableAlternative label={`Table: core time in each of ${bins.start_ns.length} bins`}>
      {() => (
        <table id="why-bins">
          <Head names={["from", ...parts.map((part) => part.title)]} />
          <tbody>
            {bins.start_ns.map((start, bin) => (
              <tr key={start}>
                <th scope="row">{moment(start, view.bin_ns)}</th>
                {parts.map((part) => (
                  <td key={part.key}>
                    <data value={String(view.bins[part.key]?.[bin] ?? 0)}>
                      {duration(view.bins[part.key]?.[bin] ?? 0)}
                    </data>
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
