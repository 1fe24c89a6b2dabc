// By hand; the types beside it are made from src/headway/report/html/payloads. Which page this is: what Python put into it tells.

import type { CausalPage } from "./causal";
import type { FlamePage } from "./flame";
import type { Payload } from "./recording";
import type { SweepPage } from "./sweep";

/** What a page may be made of: a recording, which has no `page`, or one of the others. */
export type AnyPayload = Payload | FlamePage | SweepPage | CausalPage;

/** Reads the payload that Python put into the page; null when there is none (the bare app was opened). */
export function readPayload(doc: Document): AnyPayload | null {
  const text = doc.getElementById("headway-payload")?.textContent?.trim();
  return text ? (JSON.parse(text) as AnyPayload) : null;
}
