// What was counted over time, by kind of threads: events a second, stacked.
import { useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import { type Painter, Stacked } from "../charts/stacked";
import { KIND_NAMES } from "../charts/timeline";
import type { CountersView, KindRates } from "../payload/counters";
import { compact, duration, moment, prefixOf } from "../ui/format";
import { TableAlternative } from "../ui/section";
import type { Span } from "../ui/span";
import { type Theme, useTheme } from "../ui/theme";
import { isClock } from "./rows";

interface Props {
  view: CountersView;
  wall_ns: number;
  span: Span;
  onSpan: (span: Span) => void;
}

/** How many events one mark of the axis is: a power of a thousand, so that its numbers are short. */
export function unitOf(rates: readonly KindRates[]): number {
  return prefixOf(Math.max(0, ...rates.flatMap((each) => each.rates.map((rate) => rate ?? 0))))[0];
}

/** Events per second over time, by kind of threads. */
export function OverTime({ view, wall_ns, span, onSpan }: Props) {
  const [event, setEvent] = useState(view.events[0] ?? "");
  const shown = useMemo(() => view.rates.filter((each) => each.event === event), [view, event]);
  const unit = unitOf(shown);
  if (shown.length === 0) return null;
  return (
    <>
      <label class="choice">
        event{" "}
        <select value={event} onChange={(change) => setEvent(change.currentTarget.value)}>
          {view.events.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Chart {...{ view, shown, unit, event, wall_ns, span, onSpan }} />
      <RatesTable view={view} shown={shown} wall_ns={wall_ns} />
    </>
  );
}

interface ChartProps extends Props {
  shown: KindRates[];
  unit: number;
  event: string;
}

function Chart({ view, shown, unit, event, wall_ns, span, onSpan }: ChartProps) {
  const theme = useTheme();
  const [at, setAt] = useState<number | null>(null);
  const bins = useMemo(() => ({ start_ns: view.start_ns, dur_ns: view.dur_ns }), [view]);
  const layers = useMemo(
    () =>
      shown.map((each) => ({
        label: KIND_NAMES[each.kind],
        values: each.rates.map((rate) => (rate ?? 0) / unit),
        fill: theme[each.kind],
      })),
    [shown, unit, theme],
  );
  const dark = useMemo(() => darkBins(shown), [shown]);
  const under = useMemo<Painter>(() => (u, colours) => drawDark(u, view, dark, colours), [view, dark]);
  const prefix = prefixOf(unit)[1];
  const title = `${prefix && `${prefix} `}${isClock(event) ? `ns of ${event}` : event} a second`;
  return (
    <>
      <Stacked
        label={`${title} over time, by kind of threads.`}
        cores={null}
        {...{ bins, layers, wall_ns, span, onSpan, at, onAt: setAt, under }}
      />
      <p class="legend" aria-live="polite">
        {shown.map((each) => (
          <span class="key" key={each.kind}>
            <span class="swatch" style={{ background: `var(--${each.kind})` }} />
            {KIND_NAMES[each.kind]}
            {at !== null && <b> {rateText(each.rates[at] ?? null)}</b>}
          </span>
        ))}
        {dark.length > 0 && <span class="key">shaded: threads ran, and what they counted is not known</span>}
        <span class="at">
          {at === null
            ? `${title}, mean per bin of ${duration(view.dur_ns[0] ?? 0)}`
            : moment(view.start_ns[at] ?? 0, view.dur_ns[at] ?? 1)}
        </span>
      </p>
    </>
  );
}

/** The bins in which threads of some kind ran without any counts. */
export function darkBins(shown: readonly KindRates[]): number[] {
  const length = shown[0]?.rates.length ?? 0;
  return Array.from({ length }, (_, i) => i).filter((i) => shown.some((each) => each.rates[i] === null));
}

function drawDark(u: uPlot, view: CountersView, dark: readonly number[], theme: Theme): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.fillStyle = theme.pause;
  for (const i of dark) {
    const start = view.start_ns[i] ?? 0;
    const a = Math.max(left, u.valToPos(start, "x", true));
    const b = Math.min(left + width, u.valToPos(start + (view.dur_ns[i] ?? 0), "x", true));
    if (b > a) u.ctx.fillRect(a, top, b - a, height);
  }
  u.ctx.restore();
}

const rateText = (rate: number | null) => (rate === null ? "not known" : compact(rate));

function RatesTable({ view, shown, wall_ns }: { view: CountersView; shown: KindRates[]; wall_ns: number }) {
  return (
    <TableAlternative label={`Table: events a second in each of ${view.start_ns.length} bins`}>
      {() => (
        <table>
          <thead>
            <tr>
              <th scope="col">from</th>
              {shown.map((each) => (
                <th scope="col" key={each.kind}>
                  {KIND_NAMES[each.kind]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {view.start_ns.map((start, i) => (
              <tr key={start}>
                <th scope="row">{moment(start, wall_ns / 1000)}</th>
                {shown.map((each) => (
                  <td key={each.kind}>{rateText(each.rates[i] ?? null)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableAlternative>
  );
}
