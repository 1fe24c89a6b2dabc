// A page with flame graphs and nothing else: what `headway flame` writes.
import { recordedAt } from "../app";
import { Notices } from "../parts/notices";
import { Section } from "../parts/section";
import type { FlamePage } from "./payload";
import { Flames } from "./view";

export const FLAME_LEAD =
  "Where it happened: each box is a method, as wide as what was measured in it and in what it calls. Callers and callees touch.";

export function FlamePageApp({ payload }: { payload: FlamePage }) {
  return (
    <>
      <a class="skip" href="#flame">
        Skip to the flame graph
      </a>
      <header>
        <p class="brand">headway</p>
        <h1>{payload.title}</h1>
        <p class="about">{payload.made.recorded_utc && <span>{recordedAt(payload.made.recorded_utc)}</span>}</p>
      </header>
      <main>
        <Section id="flame" title={payload.flames.graphs[0]?.label ?? "Flame graph"} lead={FLAME_LEAD}>
          <Flames set={payload.flames} name="flame" />
        </Section>
        {payload.notices.length > 0 && <Notices notices={payload.notices} />}
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
