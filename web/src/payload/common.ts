// What every page has: the kinds of threads, who made it, and messages.
// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.

export const KINDS = ["app", "gc", "jit", "vm"] as const;
export type Kind = (typeof KINDS)[number];

/** Of what, when and by which headway a page was made. */
export interface MadeBy {
  headway: string;
  recorded_utc: string;
  recording: string;
}

/** A message. */
export interface Notice {
  id: string;
  message: string;
  remedy: string;
  /** "warning" (also where it is missing), "note" or "once": how much it matters. */
  level?: string;
}
