// The data of the thread lanes, apart from any drawing: decoding, searching, sorting, and "what was it doing then".
import type { Lane } from "../payload/recording";

/** State codes of `Lane.exact`: 0..4 as here (2: uninterruptible, 3: stopped); 8 + c is running on CPU c. */
export const NOT_RECORDED = 0;
export const SLEEPING = 1;
export const RUNNABLE = 4;
export const RUNNING = 8;

export const STATE_NAMES = ["running", "runnable", "sleeping", "uninterruptible or stopped"] as const;

/** Shares 0..1 of a span: running, runnable, sleeping, uninterruptible or stopped. The rest of it: not alive, or unknown. */
export type Shares = [number, number, number, number];

/** One thread's states, either every interval or shares of equal bins. */
export interface Track {
  lane: Lane;
  exact: { starts: Float64Array; codes: Uint16Array } | null;
  bins: { n: number; shares: (Uint8Array | null)[] } | null;
}

/** A stretch in which a thread is in one state. */
export interface Interval {
  code: number;
  start_ns: number;
  end_ns: number;
}

/** Unpack a lane: exact intervals, or shares per bin. */
export function decode(lane: Lane): Track {
  if (lane.exact) {
    const n = lane.exact.length / 2;
    const starts = new Float64Array(n + 1);
    const codes = new Uint16Array(n);
    let at = lane.exact_from_ns;
    for (let i = 0; i < n; i++) {
      starts[i] = at;
      codes[i] = lane.exact[2 * i] ?? NOT_RECORDED;
      at += lane.exact[2 * i + 1] ?? 0;
    }
    starts[n] = at;
    return { lane, exact: { starts, codes }, bins: null };
  }
  if (lane.bins) {
    const { n, running, runnable, sleeping, other } = lane.bins;
    return { lane, exact: null, bins: { n, shares: [running, runnable, sleeping, other].map(bytes) } };
  }
  return { lane, exact: null, bins: null };
}

function bytes(base64: string): Uint8Array | null {
  return base64 === "" ? null : Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/** Where a code counts in Shares; -1 for none. */
export function shareIndex(code: number): number {
  if (code >= RUNNING) return 0;
  if (code === RUNNABLE) return 1;
  if (code === SLEEPING) return 2;
  return code === NOT_RECORDED ? -1 : 3;
}

/** Return a state's name for people. */
export function stateName(code: number): string {
  if (code >= RUNNING) return `running on CPU ${code - RUNNING}`;
  return ["not recorded", "sleeping", "uninterruptible", "stopped", "runnable"][code] ?? "unknown";
}

/** Index of the interval that holds time t; -1 outside the track. */
export function indexAt(starts: Float64Array, t: number): number {
  const n = starts.length - 1;
  if (n < 1 || t < (starts[0] ?? 0) || t >= (starts[n] ?? 0)) return -1;
  let low = 0;
  let high = n - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= t) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The exact interval around t, or null where only shares are known. */
export function intervalAt(track: Track, t: number): Interval | null {
  if (!track.exact) return null;
  const i = indexAt(track.exact.starts, t);
  return i < 0 ? null : intervalOf(track, i);
}

/** Return one of a lane's intervals; null where it has none. */
export function intervalOf(track: Track, i: number): Interval | null {
  const starts = track.exact?.starts;
  const code = track.exact?.codes[i];
  const start_ns = starts?.[i];
  const end_ns = starts?.[i + 1];
  return code === undefined || start_ns === undefined || end_ns === undefined ? null : { code, start_ns, end_ns };
}

/** The bin around t of a track that has shares only: its span and shares. */
export function binAt(
  track: Track,
  t: number,
  wall_ns: number,
): { start_ns: number; end_ns: number; shares: Shares } | null {
  if (!track.bins || t < 0 || t >= wall_ns) return null;
  const width = wall_ns / track.bins.n;
  const i = Math.min(track.bins.n - 1, Math.floor(t / width));
  const shares = track.bins.shares.map((s) => (s?.[i] ?? 0) / 255) as Shares;
  return { start_ns: i * width, end_ns: (i + 1) * width, shares };
}

/** Shares of each of `columns` equal spans of [from, to): what one row of pixels shows. Laid out 4 per column. */
export function columns(track: Track, from: number, to: number, count: number, wall_ns: number): Float32Array {
  const out = new Float32Array(count * 4);
  const width = (to - from) / count;
  if (track.exact) exactColumns(track.exact, from, width, count, out);
  else if (track.bins) binColumns(track.bins, from, width, count, wall_ns, out);
  return out;
}

function exactColumns(
  exact: { starts: Float64Array; codes: Uint16Array },
  from: number,
  width: number,
  count: number,
  out: Float32Array,
): void {
  const { starts, codes } = exact;
  const to = from + width * count;
  let i = Math.max(0, indexAt(starts, from));
  for (; i < codes.length; i++) {
    const begin = Math.max(from, starts[i] ?? 0);
    const end = Math.min(to, starts[i + 1] ?? 0);
    if (begin >= to) break;
    const share = shareIndex(codes[i] ?? NOT_RECORDED);
    if (share >= 0 && end > begin) spread(out, share, (begin - from) / width, (end - from) / width, count);
  }
}

/** Adds the span [a, b), measured in columns, to `share` of the columns that it touches. */
function spread(out: Float32Array, share: number, a: number, b: number, count: number): void {
  const last = Math.min(count - 1, Math.floor(b));
  for (let c = Math.max(0, Math.floor(a)); c <= last; c++) {
    const at = c * 4 + share;
    out[at] = (out[at] ?? 0) + Math.max(0, Math.min(b, c + 1) - Math.max(a, c));
  }
}

function binColumns(
  bins: { n: number; shares: (Uint8Array | null)[] },
  from: number,
  width: number,
  count: number,
  wall_ns: number,
  out: Float32Array,
): void {
  const binWidth = wall_ns / bins.n;
  bins.shares.forEach((share, s) => {
    if (!share) return;
    for (let c = 0; c < count; c++) {
      const a = Math.max(0, (from + c * width) / binWidth);
      const b = Math.min(bins.n, (from + (c + 1) * width) / binWidth);
      let sum = 0;
      for (let i = Math.floor(a); i < b; i++) sum += (share[i] ?? 0) * (Math.min(b, i + 1) - Math.max(a, i));
      if (b > a) out[c * 4 + s] = sum / 255 / (b - a);
    }
  });
}

export type SortKey = "running" | "start" | "name" | "kind";

const COMPARE: Record<SortKey, (a: Lane, b: Lane) => number> = {
  running: (a, b) => (b.running_ns ?? 0) - (a.running_ns ?? 0),
  start: (a, b) => a.start_ns - b.start_ns,
  name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  kind: (a, b) => a.kind.localeCompare(b.kind),
};

/** Sorted by the key, then by running time, then by id: the order never depends on chance. */
export function sorted(tracks: readonly Track[], key: SortKey): Track[] {
  const by = COMPARE[key];
  return [...tracks].sort((a, b) => by(a.lane, b.lane) || COMPARE.running(a.lane, b.lane) || a.lane.id - b.lane.id);
}

/** What a search for threads matches, or what is wrong with its pattern. */
export interface Search {
  matches: (lane: Lane) => boolean;
  problem: string | null;
}

/** Plain text finds a part of the name, whatever its case, or a tid; /text/ is a regular expression (flags may follow). */
export function search(query: string): Search {
  const text = query.trim();
  if (text === "") return { matches: () => true, problem: null };
  const regex = /^\/(.+)\/([a-z]*)$/s.exec(text);
  if (regex) {
    try {
      const flags = (regex[2] ?? "").replace(/[gy]/g, "");
      const pattern = new RegExp(regex[1] ?? "", flags);
      return { matches: (lane) => pattern.test(lane.name), problem: null };
    } catch (error) {
      return { matches: () => false, problem: `${text} is not a regular expression: ${(error as Error).message}` };
    }
  }
  const wanted = text.toLowerCase();
  return { matches: (lane) => lane.name.toLowerCase().includes(wanted) || String(lane.tid) === text, problem: null };
}
