// The entry point of every page: reads the payload, and draws the page that it is for.

import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import { App } from "./app";
import { CausalPageApp } from "./causal/page";
import { FlamePageApp } from "./flame/page";
import { type AnyPayload, readPayload } from "./payload/page";
import { SweepPageApp } from "./speedups/page";
import "./ui/base.css";
import "./ui/verdict.css";
import "./ui/notices.css";
import "./charts/charts.css";
import "./ui/tables.css";
import "./lanes/lanes.css";
import "./locks/locks.css";
import "./flame/flame.css";
import "./speedups/speedups.css";
import "./lost_cores/lost_cores.css";
import "./counters/counters.css";

function page(payload: AnyPayload) {
  if (!("page" in payload)) return <App payload={payload} />;
  if (payload.page === "causal") return <CausalPageApp payload={payload} />;
  return payload.page === "flame" ? <FlamePageApp payload={payload} /> : <SweepPageApp payload={payload} />;
}

const root = document.getElementById("app");
const payload = readPayload(document);
if (root && payload) {
  document.title = `${payload.title} – headway`;
  root.replaceChildren();
  render(page(payload), root);
  // Two frames on, everything above has been painted: benchmarks/report_open.py reads this mark.
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("headway-painted")));
} else if (root) {
  root.textContent = "This page holds no recording: `headway report NAME.headway` puts one in.";
}
