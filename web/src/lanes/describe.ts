// What a lane was doing at a time, in words: for the tip under the pointer and for a screen reader alike.
import { duration, integer, moment } from "../ui/format";
import { binAt, type Interval, intervalAt, STATE_NAMES, stateName, type Track } from "./model";

/** A moment of a thread in words: its name, then a line per fact. */
export interface Description {
  title: string;
  lines: string[];
}

/** Return what a thread was doing at a time. */
export function describe(track: Track, t: number, wall_ns: number): Description {
  const { lane } = track;
  const title = `${lane.name} (${lane.kind}, tid ${lane.tid})`;
  const interval = intervalAt(track, t);
  if (interval) return { title, lines: [intervalText(interval)] };
  const bin = binAt(track, t, wall_ns);
  if (!bin) return { title, lines: [life(track, t)] };
  const width = bin.end_ns - bin.start_ns;
  const known = bin.shares.flatMap((share, i) => (share > 0 ? [`${STATE_NAMES[i]} ${roughly(share)}`] : []));
  const span = `${moment(bin.start_ns, width / 10)} + ${duration(width)}`;
  return { title, lines: [span, ...(known.length > 0 ? known : ["not alive"])] };
}

function life(track: Track, t: number): string {
  const { start_ns, end_ns } = track.lane;
  const alive = t >= start_ns && (end_ns === null || t < end_ns);
  return alive && !track.exact && !track.bins ? "alive; its states were not recorded" : "not alive";
}

/** Shares of bins are kept in 255ths: say no more digits than that holds. */
function roughly(share: number): string {
  const whole = Math.round(share * 100);
  return whole === 0 ? "under 1%" : `about ${whole}%`;
}

function intervalText(interval: Interval): string {
  const length = interval.end_ns - interval.start_ns;
  const exact = length >= 1000 ? ` (${integer(length)} ns)` : "";
  return `${stateName(interval.code)} for ${duration(length)}${exact} from ${moment(interval.start_ns, 1)}`;
}

/** The thread's whole life in one line. */
export function totals(track: Track): string {
  const { lane } = track;
  const parts: string[] = [];
  if (lane.running_ns !== null) parts.push(`running ${duration(lane.running_ns)}`);
  if (lane.runnable_ns !== null) parts.push(`runnable ${duration(lane.runnable_ns)}`);
  if (lane.blocked_ns !== null) parts.push(`blocked ${duration(lane.blocked_ns)}`);
  return parts.length > 0 ? parts.join(", ") : "times not recorded";
}
