// A page with flame graphs and nothing else: what `headway flame` writes.

import type { FlamePage } from "../payload/flame";
import { Notices } from "../ui/notices";
import { Page } from "../ui/page";
import { Section } from "../ui/section";
import { Flames } from "./view";

export const FLAME_LEAD =
  "Where it happened: each box is a method, as wide as what was measured in it and in what it calls. Callers and callees touch.";

/** The page of `headway flame`. */
export function FlamePageApp({ payload }: { payload: FlamePage }) {
  return (
    <Page title={payload.title} made={payload.made} skip={["flame", "the flame graph"]}>
      <Section id="flame" title={payload.flames.graphs[0]?.label ?? "Flame graph"} lead={FLAME_LEAD}>
        <Flames set={payload.flames} name="flame" />
      </Section>
      {payload.notices.length > 0 && <Notices notices={payload.notices} />}
    </Page>
  );
}
