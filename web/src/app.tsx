// The page of a recording: its views from the verdict to the messages, and the links between them.

import { useMemo, useState } from "preact/hooks";
import { Histogram } from "./charts/histogram";
import { Placements } from "./charts/placements";
import { Timeline } from "./charts/timeline";
import { WalltimeChart } from "./charts/walltime";
import { Counters } from "./counters/view";
import { FLAME_LEAD } from "./flame/page";
import { Flames } from "./flame/view";
import { Lanes } from "./lanes/view";
import { Locks } from "./locks/view";
import type { Links } from "./lost_cores/losses";
import { Why } from "./lost_cores/view";
import type { Payload } from "./payload/recording";
import { Added } from "./ui/added";
import { Facts } from "./ui/facts";
import { duration } from "./ui/format";
import { Notices } from "./ui/notices";
import { coresText, Page } from "./ui/page";
import { Missing, Section } from "./ui/section";
import { Verdict } from "./ui/verdict";

/** The page of one recording. */
export function App({ payload }: { payload: Payload }) {
  const [span, setSpan] = useState({ from: 0, to: payload.wall_ns });
  const [lock, setLock] = useState<string | null>(null);
  const [method, setMethod] = useState<string | null>(null);
  const links = useMemo(() => linksOf(payload, setLock, setMethod), [payload]);
  return (
    <Page
      title={payload.title}
      made={payload.made}
      skip={["why", "where the cores went"]}
      about={
        <>
          <span>{duration(payload.wall_ns)}</span>
          {payload.recorded_cores !== null && <span>{coresText(payload.recorded_cores)}</span>}
          <span>mode {payload.mode}</span>
        </>
      }
    >
      <Why payload={payload} span={span} onSpan={setSpan} links={links} />
      <Verdict payload={payload} />
      <Notices notices={payload.notices} />
      <Timeline payload={payload} span={span} onSpan={setSpan} />
      <div class="pair">
        <Histogram payload={payload} />
        <WalltimeChart payload={payload} />
      </div>
      <Locks payload={payload} span={span} wanted={lock} />
      <Section id="flames" title="Flame graphs" lead={payload.flames ? FLAME_LEAD : undefined}>
        {payload.flames ? (
          <Flames set={payload.flames} name="flames" wanted={method} />
        ) : (
          <Missing reason={payload.missing.flames ?? "No stack was sampled."} />
        )}
      </Section>
      <Lanes payload={payload} span={span} onSpan={setSpan} />
      <Counters payload={payload} span={span} onSpan={setSpan} />
      {payload.placements && <Placements view={payload.placements} span={span} />}
      <Added sections={payload.sections} />
      <Facts facts={payload.facts} />
    </Page>
  );
}

/** From a place in the account to the views that show more of it, where they have it. */
function linksOf(payload: Payload, onLock: (name: string) => void, onMethod: (name: string) => void): Links {
  const locks = new Set(payload.locks?.rows.map((row) => row.name));
  const frames = payload.flames?.frames.names ?? [];
  return {
    lock: (name) => (locks.has(name) ? () => go("locks", () => onLock(name)) : null),
    method: (name) => (frames.some((frame) => frame.includes(name)) ? () => go("flames", () => onMethod(name)) : null),
  };
}

/** Changes a view and goes there, with the focus as well. */
function go(id: string, change: () => void): void {
  change();
  const section = document.getElementById(id);
  if (!section) return;
  section.tabIndex = -1;
  section.focus({ preventScroll: true });
  section.scrollIntoView();
}
