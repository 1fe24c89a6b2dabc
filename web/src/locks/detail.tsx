// Everything about one lock: its figures, who holds it and does what, and where it is waited for.

import { DOINGS, type Doing, type LockHolder, type LockRow, type LockSite, type Times } from "../payload/recording";
import { coreTime, duration, integer, number3, percent } from "../ui/format";
import { Head } from "../ui/head";

export const DOING_NAMES: Record<Doing, string> = {
  running_ns: "running",
  runnable_ns: "waiting for a CPU",
  blocked_ns: "blocked on another lock",
  gc_pause_ns: "stopped by a GC pause",
  sleeping_ns: "sleeping or in I/O",
  handoff_ns: "nobody holds it: its next owner wakes",
  unknown_ns: "not known",
};

/** Everything about one lock: its figures, who holds it and does what, and where it is waited for. */
export function Detail({ row }: { row: LockRow }) {
  return (
    <div class="lock-detail">
      <p>
        <b>{row.place === null || row.objects > 1 ? row.name : `${row.place}, ${row.name}`}</b> (
        {row.class_name || "no object"}): {row.waiting}. <span class="muted">{row.rule}.</span>
      </p>
      {row.patterns.map((pattern) => (
        <p key={pattern.name}>
          <b>{pattern.name}</b>: {pattern.text}
        </p>
      ))}
      <Figures row={row} />
      {row.chain.length > 1 && (
        <p>
          Chain: {row.chain.map((link) => `${link.lock}, held by ${link.thread}`).join("; which waits for ")}.
          {row.chain_is_cycle && " At other times it was the other way round; this is no deadlock."}
        </p>
      )}
      {row.holders.length > 0 && <Holders row={row} />}
      {row.wakers.length > 0 && <Wakers row={row} />}
      {row.sites.length > 0 && <Sites row={row} />}
    </div>
  );
}

function Figures({ row }: { row: LockRow }) {
  const maybe = (value: number | null, show: (v: number) => string) => (value === null ? "–" : show(value));
  const pct = (value: number) => `${number3(value)}%`;
  const figures: [string, string][] = [
    ["times parked", integer(row.times_parked)],
    ["parked now", integer(row.parked_now)],
    ["peak parked", integer(row.peak_parked)],
    ["thread-time", duration(row.parking_thread_time_ns)],
    ["real-time", duration(row.parking_real_time_ns)],
    ["average parking time", maybe(row.average_parking_time_ns, duration)],
    row.true_hold_time_ns === null
      ? ["average hold time (estimate)", maybe(row.average_hold_time_ns, duration)]
      : ["true hold time (p50, p99, max)", spread(row.true_hold_time_ns)],
    ["wait (p50, p99, max)", spread(row.wait_time_ns)],
    ["real-time utilisation", maybe(row.real_time_util_pct, pct)],
    ["thread-time utilisation", maybe(row.thread_time_util_pct, pct)],
    ["real-life-time utilisation", maybe(row.real_life_time_util_pct, pct)],
    ["thread-life-time utilisation", maybe(row.thread_life_time_util_pct, pct)],
    ["cores lost to it", maybe(row.lost_core_ns, (ns) => `${coreTime(ns)} of core time`)],
    ["speedup if it never blocked, at most", maybe(row.speedup_bound, (bound) => `${number3(bound)}×`)],
    ["first thread", row.first_thread ?? "–"],
  ];
  return (
    <dl class="lock-figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function spread(times: Times | null): string {
  if (times === null) return "–";
  return `${duration(times.p50)}, ${duration(times.p99)}, ${duration(times.max)} (${integer(times.count)} seen)`;
}

function Holders({ row }: { row: LockRow }) {
  return (
    <section class="scroll" aria-label={`Who holds ${row.name} while others wait`}>
      <table>
        <Head names={["holder while others wait", "share of their time", "what it does meanwhile"]} />
        <tbody>
          {row.holders.map((holder, place) => (
            <tr key={place}>
              <th scope="row">{holder.thread}</th>
              <td>{percent(holder.share)}</td>
              <td class="text">{doing(holder)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {row.more_holders > 0 && <p class="muted">{integer(row.more_holders)} more threads held it for less.</p>}
    </section>
  );
}

/** "sleeping or in I/O 98%, running 2.0%", and which locks it waits for itself. */
function doing(holder: LockHolder): string {
  const parts = DOINGS.filter((key) => holder.doing[key] > 0)
    .sort((a, b) => holder.doing[b] - holder.doing[a])
    .map((key) => `${DOING_NAMES[key]} ${percent(holder.doing[key] / holder.wait_ns)}`);
  const others = holder.blocked_on.map((each) => `${each.name} (${duration(each.wait_ns)})`);
  return parts.join(", ") + (others.length > 0 ? `; waits for ${others.join(", ")}` : "");
}

function Wakers({ row }: { row: LockRow }) {
  return (
    <div>
      <h3>Who wakes the waiters</h3>
      <ul class="wakers">
        {row.wakers.map((waker, place) => (
          <li key={place}>
            {percent(waker.share)} {waker.thread}
            {waker.line !== null && ` at ${waker.line}`} <span class="muted">in {integer(waker.times)} waits</span>
          </li>
        ))}
      </ul>
      {row.more_wakers > 0 && <p class="muted">{integer(row.more_wakers)} more.</p>}
    </div>
  );
}

function Sites({ row }: { row: LockRow }) {
  return (
    <div>
      <h3>Where it is waited for</h3>
      {placesOf(row.sites).map((place) => (
        <Place key={place.line} place={place} />
      ))}
      {row.more_sites > 0 && <p class="muted">{integer(row.more_sites)} more stacks.</p>}
    </div>
  );
}

/** A line at which a lock is waited for, by all stacks that lead there. */
export interface WaitPlace {
  line: string;
  share: number;
  wait_ns: number;
  times: number;
  stacks_taken: number;
  stacks: LockSite[];
}

/** Sites by line: several stacks may lead to one. The longest waited for first. */
export function placesOf(sites: readonly LockSite[]): WaitPlace[] {
  const found = new Map<string, WaitPlace>();
  for (const site of sites) {
    const place = found.get(site.line);
    if (!place) {
      found.set(site.line, { ...site, stacks: [site] });
      continue;
    }
    place.share += site.share;
    place.wait_ns += site.wait_ns;
    place.times += site.times;
    place.stacks_taken += site.stacks_taken;
    place.stacks.push(site);
  }
  return [...found.values()].sort((a, b) => b.wait_ns - a.wait_ns);
}

function Place({ place }: { place: WaitPlace }) {
  return (
    <details class="alternative">
      <summary>
        {percent(place.share)} {place.line}
        <span class="muted">
          {" "}
          {duration(place.wait_ns)} in {integer(place.times)} waits ({integer(place.stacks_taken)} stacks taken)
        </span>
      </summary>
      {place.stacks.map((site, number) => (
        <div key={number}>
          {place.stacks.length > 1 && <p class="muted">{percent(site.share)} by this stack</p>}
          <ol class="stack">
            {site.stack.map((frame, depth) => (
              <li key={depth}>{frame}</li>
            ))}
            {site.is_cut && <li>…</li>}
          </ol>
        </div>
      ))}
    </details>
  );
}
