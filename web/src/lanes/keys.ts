// Reading a lane with the keyboard: the arrows go from thread to thread and from state to state.
import { indexAt, intervalOf, type Track } from "./model";

/** The middle of the next (step 1) or previous (step -1) state or bin after time t; t itself at the end. */
export function nextState(track: Track, t: number, step: 1 | -1, wall_ns: number): number {
  if (track.exact) {
    const { starts, codes } = track.exact;
    const i = indexAt(starts, t);
    const outside = t < (starts[0] ?? 0) ? 0 : codes.length - 1;
    const to = i < 0 ? outside : Math.min(codes.length - 1, Math.max(0, i + step));
    const interval = intervalOf(track, to);
    return interval ? (interval.start_ns + interval.end_ns) / 2 : t;
  }
  const n = track.bins?.n ?? 100;
  const width = wall_ns / n;
  const to = Math.min(n - 1, Math.max(0, Math.floor(t / width) + step));
  return (to + 0.5) * width;
}
