// The span of time on show: one for all charts over time, so that a zoom in one is a zoom in all.
export interface Span {
  from: number;
  to: number;
}

const SHORTEST_NS = 1000;

/** Keeps a span inside the recording and no shorter than a microsecond. */
export function clamp(span: Span, wall_ns: number): Span {
  const length = Math.min(wall_ns, Math.max(SHORTEST_NS, span.to - span.from));
  const from = Math.min(Math.max(0, span.from), wall_ns - length);
  return { from, to: from + length };
}

/** Zooms by `factor` (< 1: closer) so that the time `at` stays where it is. */
export function zoom(span: Span, factor: number, at: number, wall_ns: number): Span {
  const length = Math.min(wall_ns, Math.max(SHORTEST_NS, (span.to - span.from) * factor));
  const part = (at - span.from) / (span.to - span.from);
  return clamp({ from: at - part * length, to: at - part * length + length }, wall_ns);
}

/** Moves by `part` of the span's own length. */
export function pan(span: Span, part: number, wall_ns: number): Span {
  const by = (span.to - span.from) * part;
  return clamp({ from: span.from + by, to: span.to + by }, wall_ns);
}

/** Return whether a span is all of the recording. */
export function isWhole(span: Span, wall_ns: number): boolean {
  return span.from <= 0 && span.to >= wall_ns;
}

/** The span that a key asks for (zooming around the cursor), or null for a key that means something else. */
export function spanAfter(event: KeyboardEvent, span: Span, wall_ns: number, cursor_ns: number | null): Span | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const inSight = cursor_ns !== null && cursor_ns >= span.from && cursor_ns <= span.to;
  const centre = inSight ? cursor_ns : (span.from + span.to) / 2;
  if (event.key === "+" || event.key === "=") return zoom(span, 0.5, centre, wall_ns);
  if (event.key === "-" || event.key === "_") return zoom(span, 2, centre, wall_ns);
  if (event.key === "0") return { from: 0, to: wall_ns };
  if (event.key === "ArrowLeft" && event.shiftKey) return pan(span, -0.25, wall_ns);
  if (event.key === "ArrowRight" && event.shiftKey) return pan(span, 0.25, wall_ns);
  return null;
}
