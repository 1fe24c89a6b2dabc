// Who waits for which lock, when, and who holds it meanwhile.
import { useEffect, useState } from "preact/hooks";
import type { LockRow, LockView, Payload } from "../payload/recording";
import { CoreTime, Integer, MaybeDuration, Percent } from "../ui/figure";
import { duration, integer } from "../ui/format";
import { Head } from "../ui/head";
import { Name } from "../ui/name";
import { Missing, Section } from "../ui/section";
import type { Span } from "../ui/span";
import { Detail } from "./detail";
import { Strip } from "./strip";

const LEAD =
  "Where threads waited, and for which objects; what cost most core time first, whatever kind of waiting it is. Bars: threads waiting over the span on show above. Choose a lock to see who holds it and where it is waited for.";

interface Props {
  payload: Payload;
  span: Span;
  /** A lock that another view leads to, by name. */
  wanted: string | null;
}

/** The view of locks: a list, and the chosen one in detail. */
export function Locks({ payload, span, wanted }: Props) {
  const view = payload.locks;
  return (
    <Section id="locks" title="Locks" lead={view && view.rows.length > 0 ? LEAD : undefined}>
      {view === null ? (
        <Missing reason={payload.missing.locks ?? "No locks were recorded."} />
      ) : view.rows.length === 0 ? (
        <Missing reason="No thread waited for a lock, a condition or an object." />
      ) : (
        <Table view={view} span={span} wall_ns={payload.wall_ns} wanted={wanted} />
      )}
    </Section>
  );
}

type TableProps = Omit<Props, "payload"> & { view: LockView; wall_ns: number };

function Table({ view, span, wall_ns, wanted }: TableProps) {
  const [chosen, setChosen] = useState(0);
  const [idle, setIdle] = useState(false);
  const contended = view.rows.filter((row) => row.contention);
  useEffect(() => {
    const at = view.rows.findIndex((row) => row.name === wanted);
    if (at < 0) return;
    setIdle(true); // all rows: it may be no contention
    setChosen(at);
  }, [view, wanted]);
  const shown = idle || contended.length === 0 ? view.rows : contended;
  const row = shown[Math.min(chosen, shown.length - 1)];
  return (
    <>
      <Deadlocks view={view} />
      <p>
        Time waited: {duration(view.contended_ns)} in contention, {duration(view.idle_ns)} with nothing to do or for
        results.
      </p>
      {contended.length > 0 && contended.length < view.rows.length && (
        <label class="choice">
          <input type="checkbox" checked={idle} onChange={(event) => setIdle(event.currentTarget.checked)} />
          show waiting that is no contention, too
        </label>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroll locks" tabIndex={0} aria-label="Table of locks">
        <table id="lock-table">
          <Head
            names={[
              "place",
              "lock",
              "waiting",
              "lost core time",
              "busy",
              "thread-time",
              "times",
              "peak",
              "waiters over time",
            ]}
          />
          <tbody>
            {shown.map((each, i) => (
              <Row
                key={each.name + each.kind + each.first_ns}
                row={each}
                isChosen={each === row}
                onChoose={() => setChosen(i)}
                span={span}
                wall_ns={wall_ns}
              />
            ))}
          </tbody>
        </table>
      </section>
      {view.hidden > 0 && <p class="muted">{integer(view.hidden)} more rows cost less: headway locks shows all.</p>}
      {row && <Detail row={row} />}
    </>
  );
}

interface RowProps {
  row: LockRow;
  isChosen: boolean;
  onChoose: () => void;
  span: Span;
  wall_ns: number;
}

function Row({ row, isChosen, onChoose, span, wall_ns }: RowProps) {
  return (
    <tr class={isChosen ? "chosen" : undefined}>
      <th scope="row">
        <button type="button" aria-pressed={isChosen} onClick={onChoose}>
          <Name text={row.place ?? row.name} />
        </button>
      </th>
      <td class="text" data-label="lock">
        <Name text={objectText(row)} />
      </td>
      <td class="text" data-label="waiting">
        {row.waiting}
      </td>
      <td data-label="lost core time">
        {row.lost_core_ns === null ? <MaybeDuration value={null} /> : <CoreTime value={row.lost_core_ns} />}
      </td>
      <td data-label="busy">
        {row.real_time_util_pct === null ? "–" : <Percent value={Math.min(row.real_time_util_pct, 100) / 100} />}
      </td>
      <td data-label="thread-time">
        <MaybeDuration value={row.parking_thread_time_ns} />
      </td>
      <td data-label="times">
        <Integer value={row.times_parked} />
      </td>
      <td data-label="peak">
        <Integer value={row.peak_parked} />
      </td>
      <td class="strip-cell" data-label="waiters over time">
        {row.waiters && (
          <Strip
            waiters={row.waiters}
            top={Math.max(1, row.peak_parked)}
            contention={row.contention}
            span={span}
            wall_ns={wall_ns}
          />
        )}
      </td>
    </tr>
  );
}

/** What of the object there is to say beside its place. */
export function objectText(row: LockRow): string {
  if (row.objects > 1) return `${integer(row.objects)} objects (${simpleName(row.class_name)})`;
  return row.place === null ? "" : row.name;
}

function simpleName(className: string): string {
  return className.slice(className.lastIndexOf(".") + 1);
}

function Deadlocks({ view }: { view: LockView }) {
  return (
    <>
      {view.deadlocks.map((links) => (
        <p class="deadlock" role="alert" key={links.map((link) => link.thread).join()}>
          <b>Deadlock:</b>{" "}
          {links
            .map((link, i) => {
              const next = links[(i + 1) % links.length];
              return `${link.lock} is held by ${link.thread}, which waits for ${next?.lock}`;
            })
            .join("; ")}
          .
        </p>
      ))}
    </>
  );
}
