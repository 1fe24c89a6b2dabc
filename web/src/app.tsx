import { useState } from "preact/hooks";
import { Histogram } from "./charts/histogram";
import { Timeline } from "./charts/timeline";
import { WalltimeChart } from "./charts/walltime";
import { FLAME_LEAD } from "./flame/page";
import { Flames } from "./flame/view";
import { duration } from "./format";
import { Lanes } from "./lanes/view";
import { Locks } from "./locks/view";
import { Facts } from "./parts/facts";
import { Notices } from "./parts/notices";
import { Missing, Section } from "./parts/section";
import { Verdict } from "./parts/verdict";
import type { Payload } from "./payload";

/** "2026-01-02T03:04:05.678+00:00" as "2026-01-02 03:04 UTC"; anything else as it is. */
export function recordedAt(utc: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:[\d.]+)?(Z|\+00:00)$/.exec(utc);
  return parts ? `${parts[1]} ${parts[2]} UTC` : utc;
}

export function App({ payload }: { payload: Payload }) {
  const [span, setSpan] = useState({ from: 0, to: payload.wall_ns });
  return (
    <>
      <a class="skip" href="#verdict">
        Skip to the verdict
      </a>
      <header>
        <p class="brand">headway</p>
        <h1>{payload.title}</h1>
        <p class="about">
          <span>{duration(payload.wall_ns)}</span>
          {payload.recorded_cores !== null && (
            <span>{payload.recorded_cores === 1 ? "1 core" : `${payload.recorded_cores} cores`}</span>
          )}
          <span>mode {payload.mode}</span>
          {payload.made.recorded_utc && <span>{recordedAt(payload.made.recorded_utc)}</span>}
        </p>
      </header>
      <main>
        <Verdict payload={payload} />
        <Notices notices={payload.notices} />
        <Timeline payload={payload} span={span} onSpan={setSpan} />
        <div class="pair">
          <Histogram payload={payload} />
          <WalltimeChart payload={payload} />
        </div>
        <Locks payload={payload} span={span} />
        <Section id="flames" title="Flame graphs" lead={payload.flames ? FLAME_LEAD : undefined}>
          {payload.flames ? (
            <Flames set={payload.flames} name="flames" />
          ) : (
            <Missing reason={payload.missing.flames ?? "No stack was sampled."} />
          )}
        </Section>
        <Lanes payload={payload} span={span} onSpan={setSpan} />
        <Facts facts={payload.facts} />
      </main>
      <footer>
        <p>
          Made by headway {payload.made.headway} from {payload.made.recording}. This file makes no requests; all it
          shows is in it.
        </p>
      </footer>
    </>
  );
}
