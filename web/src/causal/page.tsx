// The page of a causal recording: what a faster line would really give, found by experiments.
import { useMemo, useState } from "preact/hooks";
import { Duration, Integer, MaybeDuration } from "../ui/figure";
import { duration, integer, number3 } from "../ui/format";
import { Head } from "../ui/head";
import { Notices } from "../ui/notices";
import { Page } from "../ui/page";
import { Missing, Section } from "../ui/section";
import { Tile } from "../ui/tile";
import "./causal.css";
import type { CausalPage } from "../payload/causal";
import { Chosen } from "./chosen";
import { Compare } from "./compare";
import { rangeOf } from "./curve";
import { Multiples } from "./multiples";
import { rowsOf } from "./rows";

const CURVES_LEAD =
  "To the right the line gets faster, as if it took so much less time; upwards the program gets faster. All curves have " +
  "one scale. Grey: no answer yet, as experiments are too few, or the gain is more than delays allow (noise, or threads " +
  "that go on faster once they stood still).";

/** The page of a causal recording. */
export function CausalPageApp({ payload: page }: { payload: CausalPage }) {
  const [point, setPoint] = useState(0);
  const [place, setPlace] = useState(0);
  const rows = useMemo(() => rowsOf(page, point), [page, point]);
  const tried = useMemo(() => rows.filter((row) => row.points.length > 0), [rows]);
  const range = useMemo(() => rangeOf(tried), [tried]);
  const chosen = Math.min(place, tried.length - 1);
  const row = tried[chosen];
  const show = (i: number) => {
    const line = rows[i];
    if (line) setPlace(Math.max(0, tried.indexOf(line)));
    go("curves");
  };
  return (
    <Page
      title={page.title}
      made={page.made}
      skip={["curves", "the causal curves"]}
      about={
        <>
          <span>{page.runs === 1 ? "1 run" : `${integer(page.runs)} runs`}</span>
          <span>{duration(page.recorded_ns)}</span>
          <span>{page.mode}</span>
        </>
      }
    >
      <Verdict page={page} />
      <Notices notices={page.notices} none="None: nothing stood in the way of the experiments." />
      <Section id="curves" title="What a faster line gives" lead={row ? CURVES_LEAD : undefined}>
        {page.progress_points.length > 1 && <Points page={page} point={point} onPoint={setPoint} />}
        {row ? (
          <>
            <Multiples rows={tried} range={range} chosen={chosen} onChoose={setPlace} />
            <Chosen row={row} range={range} />
            {page.no_sources !== null && <p class="rest">{page.no_sources}</p>}
          </>
        ) : (
          <Missing reason="No experiment counts for this progress point." />
        )}
      </Section>
      <Section
        id="compare"
        title="Hot is not the same as decisive"
        lead={rows.length > 0 ? "Left: what a flat profile shows. Right: what the experiments found." : undefined}
      >
        {rows.length > 0 ? <Compare rows={rows} onChoose={show} /> : <Missing reason="No line in scope was sampled." />}
        {page.left_out.map((text) => (
          <p key={text} class="rest">
            {text}
          </p>
        ))}
      </Section>
      <Progress page={page} />
    </Page>
  );
}

function go(id: string): void {
  const section = document.getElementById(id);
  if (!section) return;
  section.tabIndex = -1;
  section.focus({ preventScroll: true });
  section.scrollIntoView();
}

function Verdict({ page }: { page: CausalPage }) {
  const share = page.recorded_ns > 0 ? page.delay_ns / page.recorded_ns : 0;
  return (
    <Section id="verdict" title="Verdict">
      <p class="headline">{page.verdict}</p>
      <dl class="tiles">
        <Tile label="Experiments" note={`${integer(page.gc_experiments)} with a pause of the collector`}>
          <Integer value={page.experiments} />
        </Tile>
        <Tile label="Left out" note="experiments while the program warmed up">
          <Integer value={page.warm_up_experiments} />
        </Tile>
        <Tile label="Recorded" note={page.runs === 1 ? "in 1 run" : `in ${integer(page.runs)} runs`}>
          <Duration value={page.recorded_ns} />
        </Tile>
        <Tile label="Delays" note={`inserted into the program: ${(share * 100).toFixed(1)}% of it`}>
          <Duration value={page.delay_ns} />
        </Tile>
      </dl>
      {page.next && (
        <p class="next">
          <b>Look next</b>: <code>{page.next}</code>
        </p>
      )}
    </Section>
  );
}

interface PointsProps {
  page: CausalPage;
  point: number;
  onPoint: (i: number) => void;
}

function Points({ page, point, onPoint }: PointsProps) {
  return (
    <div class="toolbar">
      <label>
        <span>Speedup of</span>
        <select value={String(point)} onChange={(event) => onPoint(Number(event.currentTarget.value))}>
          {page.progress_points.map((each, i) => (
            <option key={i} value={String(i)}>
              {each.measure === "latency" ? `${each.name} (latency)` : each.name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Progress({ page }: { page: CausalPage }) {
  const latencies = page.progress_points.some((each) => each.latency_ns !== null);
  return (
    <Section id="progress" title="Progress points" lead="What the program's speed is measured by.">
      {page.progress_points.length === 0 ? (
        <Missing reason="The recording has none." />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="scroll" tabIndex={0} aria-label="Progress points, with their rates">
          <table data-table="progress">
            <Head names={["point", "kind", "where", "visits", "per second", ...(latencies ? ["mean latency"] : [])]} />
            <tbody>
              {page.progress_points.map((each, i) => (
                <tr key={i}>
                  <th scope="row">{each.name}</th>
                  <td class="text">{each.kind}</td>
                  <td class="text">{each.where}</td>
                  <td>
                    <Integer value={each.hits} />
                  </td>
                  <td>
                    <data value={String(each.hits_per_s)}>{number3(each.hits_per_s)}</data>
                  </td>
                  {latencies && (
                    <td>
                      <MaybeDuration value={each.latency_ns} />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Section>
  );
}
