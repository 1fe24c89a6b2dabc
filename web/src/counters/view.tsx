// What the counters of the CPUs and of the kernel counted: over time by kind of threads, and a table of threads to sort.
import { useMemo, useState } from "preact/hooks";
import type { CountedFigure, CountedThread, CountersView, UnitCount } from "../payload/counters";
import type { Payload } from "../payload/recording";
import { Duration, Rounded } from "../ui/figure";
import { compact, integer } from "../ui/format";
import { Name } from "../ui/name";
import { SortableHead } from "../ui/order";
import { Missing, Section } from "../ui/section";
import type { Span } from "../ui/span";
import { OverTime } from "./over_time";
import { columnsOf, mark, shownValue, sorted } from "./rows";

const LEAD =
  "What was counted while each thread ran, read at every switch. ~ is not exact, ≥ the least that there was, – not known. Choose a column's name to sort by it.";

interface Props {
  payload: Payload;
  span: Span;
  onSpan: (span: Span) => void;
}

/** The section; none of a recording for which nobody asked for counters. */
export function Counters({ payload, span, onSpan }: Props) {
  const view = payload.counters;
  const missing = payload.missing.counters;
  if (view === null && !missing) return null;
  return (
    <Section id="counters" title="Counters" lead={view ? LEAD : undefined}>
      {view === null ? (
        <Missing reason={missing ?? ""} />
      ) : (
        <>
          {view.events.length > 0 && (
            <p>
              Counted: <b>{view.step}</b> ({view.tells}).
            </p>
          )}
          {view.in_turn.length > 0 && (
            <p class="muted">Groups took turns, and are scaled: {view.in_turn.join("; ")}.</p>
          )}
          <OverTime view={view} wall_ns={payload.wall_ns} span={span} onSpan={onSpan} />
          {view.events.length > 0 && <Table view={view} />}
          <Units units={view.units} />
          <Unknown view={view} />
        </>
      )}
    </Section>
  );
}

function Table({ view }: { view: CountersView }) {
  const [order, setOrder] = useState({ column: 3, descending: true });
  const columns = useMemo(() => columnsOf(view), [view]);
  const by = columns[order.column];
  const rows = useMemo(() => (by ? sorted(view.rows, by, order.descending) : view.rows), [view, by, order]);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroll counters" tabIndex={0} aria-label="Table of counters by thread">
        <table id="counter-table">
          <SortableHead columns={columns} order={order} onOrder={setOrder} />
          <tbody>
            {rows.map((row) => (
              <Row key={`${row.pid}-${row.tid}-${row.name}`} row={row} />
            ))}
          </tbody>
        </table>
      </section>
      {view.left_out > 0 && (
        <p class="muted">{integer(view.left_out)} more threads ran less: headway counters --all shows them.</p>
      )}
    </>
  );
}

function Row({ row }: { row: CountedThread }) {
  return (
    <tr>
      <th scope="row">
        <Name text={row.name} />
      </th>
      <td class="text">{row.kind}</td>
      <td>{row.tid}</td>
      <td>
        <Duration value={row.running_ns} />
      </td>
      {row.counts.map((figure, i) => (
        <td key={`count-${i}`}>
          <Cell figure={figure} isCount />
        </td>
      ))}
      {row.metrics.map((figure, i) => (
        <td key={`metric-${i}`}>
          <Cell figure={figure} />
        </td>
      ))}
    </tr>
  );
}

function Cell({ figure, isCount }: { figure: CountedFigure; isCount?: boolean }) {
  const value = shownValue(figure);
  if (value === null) {
    return (
      <span class="unknown">
        <span aria-hidden="true">–</span>
        <span class="sr-only">unknown</span>
      </span>
    );
  }
  return (
    <>
      {mark(figure)}
      {isCount ? <data value={String(value)}>{compact(value)}</data> : <Rounded value={value} />}
    </>
  );
}

/** What units of whole sockets counted, whatever ran there: nothing of it is any thread's. */
function Units({ units }: { units: readonly UnitCount[] }) {
  if (units.length === 0) return null;
  return (
    <table id="socket-units">
      <caption>Units of whole sockets, whatever ran there, from begin to end of the recording.</caption>
      <thead>
        <tr>
          <th scope="col">event of a unit</th>
          <th scope="col">socket</th>
          <th scope="col">CPU</th>
          <th scope="col">counted</th>
        </tr>
      </thead>
      <tbody>
        {units.map((each) => (
          <tr key={`${each.event}-${each.cpu}`}>
            <th scope="row">
              <Name text={each.event} />
            </th>
            <td>{each.socket === null ? "–" : each.socket}</td>
            <td>{each.cpu}</td>
            <td>
              <Cell figure={each.counted} isCount /> {each.of}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Why figures are withheld, and what is not counted at all. */
function Unknown({ view }: { view: CountersView }) {
  if (view.withheld.length === 0 && view.absent.length === 0) return null;
  return (
    <ul class="withheld">
      {view.withheld.map((reason) => (
        <li key={reason}>– is withheld: {reason}</li>
      ))}
      {[...new Set(view.absent.map((each) => each.reason))].map((reason) => (
        <li key={reason}>
          <strong>
            {view.absent
              .filter((each) => each.reason === reason)
              .map((each) => each.event)
              .join(", ")}
          </strong>{" "}
          not counted: {reason}
        </li>
      ))}
    </ul>
  );
}
