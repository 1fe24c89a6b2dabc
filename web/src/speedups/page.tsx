// A sweep's page: advice first, then what it rests on, then where to look.
import { FLAME_LEAD } from "../flame/page";
import { Flames } from "../flame/view";
import { POP, type SweepPage } from "../payload/sweep";
import { duration, percent } from "../ui/format";
import { Notices } from "../ui/notices";
import { coresText, Page } from "../ui/page";
import { Missing, Section } from "../ui/section";
import { Tile } from "../ui/tile";
import { type Figure, Ratio, ShownFigures, Unknown } from "./figures";
import { GeneralMetrics, Times } from "./metrics";
import { SpeedupChart } from "./speedup";
import { Stacks } from "./stack";

/** The page of a sweep. */
export function SweepPageApp({ payload }: { payload: SweepPage }) {
  const counts = payload.rows.map((row) => row.threads).join(", ");
  return (
    <Page
      title={payload.title}
      made={payload.made}
      skip={["verdict", "the verdict"]}
      about={
        <>
          <span>{counts === "1" ? "1 thread" : `${counts} threads`}</span>
          {payload.cores !== null && <span>{coresText(payload.cores)}</span>}
          <span>mode {payload.mode}</span>
        </>
      }
      more={
        payload.commands && (
          <p class="about">
            <code>{payload.commands.parallel}</code>
            {payload.commands.sequential && (
              <span>
                against <code>{payload.commands.sequential}</code>
              </span>
            )}
          </p>
        )
      }
    >
      <Advice page={payload} />
      <Notices notices={payload.notices} />
      <SpeedupChart page={payload} />
      <Stacks page={payload} />
      <Efficiencies page={payload} />
      <div class="pair">
        <Times page={payload} />
        <GeneralMetrics page={payload} />
      </div>
      <FlatProfile page={payload} />
      <Section id="flames" title="Flame graphs" lead={payload.flames ? FLAME_LEAD : undefined}>
        {payload.flames ? (
          <Flames set={payload.flames} name="flames" />
        ) : (
          <Missing reason={payload.no_flames ?? "No stack was sampled."} />
        )}
      </Section>
      {payload.left_out.length > 0 && (
        <p class="rest">Not on this page: {payload.left_out.join(", ")}. headway speedups has them.</p>
      )}
    </Page>
  );
}

const near = (a: number, b: number) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a));

function Advice({ page }: { page: SweepPage }) {
  const { verdict } = page;
  const { withheld } = verdict;
  const evidence = verdict.evidence.filter((sentence) => sentence !== withheld); // the headline says it
  const row = page.rows.find((each) => each.threads === verdict.threads);
  const possible = verdict.limit === null ? null : (row?.possible[verdict.limit] ?? null);
  const { gain } = verdict;
  // Where others had the CPUs, a gain is that of programs that never wait for one; possible speedups are counted from the computed.
  const isCalm =
    row !== undefined && possible !== null && gain !== null && !near(possible / row.computed_speedup - 1, gain);
  return (
    <Section id="verdict" title="Verdict">
      <p class="headline">{verdict.text}</p>
      {row && (
        <dl class="tiles">
          <Tile label="Real speedup" note={`${verdict.threads} threads, not recorded`}>
            <Ratio value={row.real_speedup} />
          </Tile>
          <Tile label="Computed speedup" note="from the recorded runs">
            <Ratio value={row.computed_speedup} />
          </Tile>
          <Tile
            label="Possible speedup"
            note={
              verdict.limit === null ? "no limit is named" : `without ${page.labels[verdict.limit] ?? verdict.limit}`
            }
          >
            {possible === null ? <Unknown /> : <Ratio value={possible} />}
          </Tile>
          <Tile label="Gain" note={isCalm ? "counted without waiting for a CPU" : "of the program's speed"}>
            {gain === null ? (
              <Unknown />
            ) : (
              <data value={String(gain)}>{`${gain >= 0 ? "+" : ""}${percent(gain)}`}</data>
            )}
          </Tile>
        </dl>
      )}
      {withheld && !verdict.text.includes(withheld) && <p class="missing">{withheld}</p>}
      {verdict.place && (
        <p>
          <b>Where</b>: <code>{verdict.place}</code>
        </p>
      )}
      {evidence.length > 0 && (
        <ul class="findings">
          {evidence.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <p class="next">
        <b>Look next</b>: <code>{verdict.next}</code>
      </p>
    </Section>
  );
}

const POP_NAMES: Record<(typeof POP)[number], string> = {
  overall: "global efficiency",
  parallel: "parallel efficiency",
  load_balance: "· load balance",
  communication: "· communication efficiency",
  computation: "computation scaling",
  instructions: "· instruction scaling",
  ipc: "· IPC scaling",
  frequency: "· frequency scaling",
};

/** The two parts of the load balance, where counters of each thread tell them apart. */
function imbalance(page: SweepPage): Figure[] {
  const parts = [
    ["· in instructions", "instructions"],
    ["· in CPI", "cpi"],
  ] as const;
  return parts
    .filter(([, part]) => page.rows.some((row) => row.imbalance[part] !== null))
    .map(([label, part]) => ({
      label,
      cells: page.rows.map((row) => <Ratio key={row.threads} value={row.imbalance[part]} />),
    }));
}

function Efficiencies({ page }: { page: SweepPage }) {
  const known = Object.keys(page.rows[0]?.efficiencies ?? {}).filter((limit) =>
    page.rows.some((row) => (row.efficiencies[limit] ?? null) !== null),
  );
  const figures: Figure[] = known.flatMap((limit) => [
    {
      label: page.efficiency_labels[limit] ?? page.labels[limit] ?? limit,
      cells: page.rows.map((row) => <Ratio key={row.threads} value={row.efficiencies[limit]} />),
    },
    ...(limit === "load_balance" ? imbalance(page) : []),
  ]);
  const pop: Figure[] = POP.filter((name) => page.rows.some((row) => (row.pop?.[name] ?? null) !== null)).map(
    (name) => ({
      label: POP_NAMES[name],
      cells: page.rows.map((row) => <Ratio key={row.threads} value={row.pop?.[name]} />),
    }),
  );
  return (
    <Section
      id="efficiencies"
      title="Efficiencies"
      lead="1 is ideal: nothing is lost to it. What can't be known in these runs is left out."
    >
      <ShownFigures rows={page.rows} figures={figures} name="efficiencies" label="Efficiencies by number of threads" />
      {pop.length > 0 && (
        <>
          <h3>The same runs in POP's terms</h3>
          <ShownFigures rows={page.rows} figures={pop} name="pop" label="POP efficiencies by number of threads" />
        </>
      )}
    </Section>
  );
}

function FlatProfile({ page }: { page: SweepPage }) {
  const regions = [...new Set(page.rows.flatMap((row) => row.flat.map((part) => part.region)))];
  const tables = regions
    .map((region) => ({ region, figures: flatOf(page, region) }))
    .filter(({ figures }) => figures.length > 0);
  return (
    <Section
      id="flat"
      title="What the busiest thread does"
      lead={tables.length > 0 ? "Mean CPU time of its largest methods, region by region." : undefined}
    >
      {tables.length === 0 && <Missing reason="Its stacks were not sampled: headway sweep --sample cpu." />}
      {tables.map(({ region, figures }) => (
        <div key={region}>
          <h3>{region === "(rest)" ? "Outside the regions" : `Region ${region}`}</h3>
          <ShownFigures
            rows={page.rows}
            figures={figures}
            name={`flat ${region}`}
            label={`Busiest thread in ${region}`}
          />
        </div>
      ))}
    </Section>
  );
}

/** The methods of a region, those with most time at any number of threads first. */
function flatOf(page: SweepPage, region: string): Figure[] {
  const times = new Map<string, (number | null)[]>();
  page.rows.forEach((row, i) => {
    for (const [frame, ns] of row.flat.find((part) => part.region === region)?.frames ?? []) {
      const cells = times.get(frame) ?? page.rows.map(() => null);
      cells[i] = ns;
      times.set(frame, cells);
    }
  });
  const most = (cells: (number | null)[]) => Math.max(...cells.map((ns) => ns ?? 0));
  return [...times]
    .sort(([, a], [, b]) => most(b) - most(a))
    .map(([label, cells]) => ({
      label,
      cells: cells.map((ns) => (ns === null ? <Unknown /> : <data value={String(ns)}>{duration(ns)}</data>)),
    }));
}
