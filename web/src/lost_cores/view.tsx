// The first view: where the cores went. The sentence, the picture over time, the losses, and what the cores add up to.
import { useState } from "preact/hooks";
import type { Account, WhyView } from "../payload/lost_cores";
import type { Payload } from "../payload/recording";
import { Duration, Percent } from "../ui/figure";
import { coresText } from "../ui/page";
import { Missing, Section } from "../ui/section";
import type { Span } from "../ui/span";
import { BottleGraph } from "./bottle";
import { type Links, Losses } from "./losses";
import { OverTime, phaseText } from "./over_time";
import { Hatchings } from "./paint";
import { partsOf } from "./parts";
import { PathTables } from "./path";
import { Stack } from "./stack";

/** The causes that the sentence names. */
const SAID = 3;

interface Props {
  payload: Payload;
  span: Span;
  onSpan: (span: Span) => void;
  links: Links;
}

/** The view of where the cores went. */
export function Why({ payload, span, onSpan, links }: Props) {
  const view = payload.why;
  return (
    <Section id="why" title="Where the cores went">
      {view && view.account.core_ns > 0 ? (
        <Accounts {...{ view, span, onSpan, links }} wall_ns={payload.wall_ns} />
      ) : (
        <Missing reason={payload.missing.why ?? "The recording is empty: it holds no span of time."} />
      )}
    </Section>
  );
}

type AccountsProps = Omit<Props, "payload"> & { view: WhyView; wall_ns: number };

function Accounts({ view, wall_ns, span, onSpan, links }: AccountsProps) {
  const [chosen, setChosen] = useState<number | null>(null);
  const phase = chosen === null ? undefined : view.phases[chosen];
  const account = phase?.account ?? view.account;
  return (
    <>
      <Hatchings />
      <Sentence account={view.account} />
      <OverTime {...{ view, wall_ns, span, onSpan }} phase={chosen} onPhase={setChosen} />
      <div class="of-phase" aria-live="polite">
        {phase && (
          <p class="chosen">
            <b>{phaseText(phase)}.</b>{" "}
            <button type="button" onClick={() => setChosen(null)}>
              Show the whole recording
            </button>
          </p>
        )}
        {phase && <Sentence account={account} />}
      </div>
      <h3>What they were lost to</h3>
      <p class="lead">
        What would likely gain most comes first. “Likely” is an estimate: waits are left out when the recording is
        replayed, and work is spread over all cores. “At most” is a bound, not a forecast: something else may take a
        cause’s place when it is gone.
      </p>
      <Losses key={chosen ?? "all"} account={account} view={view} links={links} />
      <h3>What {coresText(account.cores)} add up to</h3>
      <Stack account={account} />
      {view.bottles.length > 0 && (
        <>
          <h3>Bottle graph</h3>
          <p class="lead">
            Each box is a thread of the whole recording: as high as its part of the wall time, as wide as the number of
            threads active beside it. Narrow boxes are the neck; height that is missing had no thread active.
          </p>
          <BottleGraph bottles={view.bottles} wall_ns={wall_ns} />
        </>
      )}
      {view.path && (
        <>
          <h3>Critical path</h3>
          <p class="lead">The chain of work and waits that the end had to wait for, by state and by thread.</p>
          <PathTables path={view.path} />
        </>
      )}
    </>
  );
}

/** "2 cores × 12.3 s = 24.6 s: 70% used, 4.0% stolen by the host, 3.0% by other processes, 23% lost (0.46 cores): ..." */
function Sentence({ account }: { account: Account }) {
  const share = (ns: number) => <Percent value={ns / account.core_ns} />;
  const lost = partsOf(account).filter((part) => part.isLost);
  const { stolen_ns, other_processes_ns } = account;
  return (
    <p class="headline account">
      <data value={String(account.cores)}>{coresText(account.cores)}</data> ×{" "}
      <Duration value={account.end_ns - account.start_ns} /> = <Duration value={account.core_ns} /> of core time:{" "}
      {share(account.used_ns)} used
      {stolen_ns !== null && <>, {share(stolen_ns)} stolen by the host</>}
      {other_processes_ns !== null && <>, {share(other_processes_ns)} used by other processes</>},{" "}
      <b>{share(account.lost_ns)} lost</b>
      {account.lost_ns > 0 && (
        <>
          {` (${coresText(account.lost_ns / (account.end_ns - account.start_ns))}): `}
          {lost.slice(0, SAID).map(({ key, title, ns }, i) => (
            <span key={key}>
              {i > 0 && ", "}
              {title} {share(ns)}
            </span>
          ))}
          {lost.length > SAID && " and others"}
        </>
      )}
      .
      {(stolen_ns === null || other_processes_ns === null) && (
        <span class="unknown">
          {" "}
          {stolen_ns === null ? "What the host stole" : ""}
          {stolen_ns === null && other_processes_ns === null ? " and what " : ""}
          {other_processes_ns === null ? `${stolen_ns === null ? "" : "What "}other processes used` : ""} is not known
          here.
        </span>
      )}
    </p>
  );
}
