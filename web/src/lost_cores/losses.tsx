// What the cores were lost to: cause, place, how much, what it could give, and what says so.

import type { Account, Loss, WhyView } from "../payload/lost_cores";
import { CoreTime, Duration, Integer, Percent } from "../ui/figure";
import { number3, percent } from "../ui/format";
import { Swatch } from "./paint";

/** The lines that a person needs: so many at most, and none below this share of the core time unless without it the program
 * would likely be so many times as fast (others may have used the idle cores). The rest unfolds. */
const FIRST = 10;
const SMALL = 0.001;
const GAINS = 1.02;
const WORTH_SAYING = 1.005;

/** The ways from a loss to the views that show more of it. */
export interface Links {
  /** Shows a lock in the view of locks; null: it is not there. */
  lock: (name: string) => (() => void) | null;
  /** Looks a method up in the flame graphs; null: no graph has it. */
  method: (name: string) => (() => void) | null;
}

interface Props {
  account: Account;
  view: WhyView;
  links: Links;
}

/** The losses of an account, with their evidence. */
export function Losses({ account, view, links }: Props) {
  const { losses, more } = account;
  if (losses.length === 0) return <p class="missing">No core time was lost.</p>;
  const first = Math.min(FIRST, losses.filter(isWorthALine).length);
  const row = (loss: Loss, i: number) => <Row key={i} loss={loss} losses={losses} view={view} links={links} />;
  return (
    <>
      {first > 0 ? (
        <ol class="losses">{losses.slice(0, first).map(row)}</ol>
      ) : (
        <p class="missing">No loss is {percent(SMALL)} of the core time or more.</p>
      )}
      {losses.length > first && (
        <details class="alternative">
          <summary>{foldedText(losses.slice(first))}</summary>
          <ol class="losses" start={first + 1}>
            {losses.slice(first).map((loss, i) => row(loss, i + first))}
          </ol>
        </details>
      )}
      {more.losses > 0 && (
        <p class="rest">
          <Integer value={more.losses} /> more, <Duration value={more.core_ns} /> together: headway why has them.
        </p>
      )}
    </>
  );
}

/** Losses come in order of what would likely be gained, those that are not worth a line after all others. */
export const isWorthALine = (loss: Loss) => loss.share >= SMALL || (loss.likely ?? 1) >= GAINS;

/** What is folded away: the small ones alone, or the rest of the others with them. */
export function foldedText(folded: readonly Loss[]): string {
  const losses = folded.length === 1 ? "loss" : "losses";
  return folded.some(isWorthALine)
    ? `${folded.length} further ${losses}`
    : `${folded.length} ${losses} below ${percent(SMALL)} of the core time`;
}

/** "likely 1.05, at most 1.10 times as fast", with the likely gain where it is told. */
function Gain({ loss }: { loss: Loss }) {
  const { bound, likely } = loss;
  if (bound === null || bound < WORTH_SAYING) return null;
  return (
    <span class="loss-bound">
      {"; without it "}
      {likely !== null && (
        <>
          {"likely "}
          <data value={String(likely)}>{number3(likely)}</data>
          {", "}
        </>
      )}
      {"at most "}
      <data value={String(bound)}>{number3(bound)}</data>
      {" times as fast"}
    </span>
  );
}

/** "OrderBook.match:12", "ReentrantLock@1f, held by worker-3", or the thread alone. */
export function threadText(loss: Loss): string | null {
  if (loss.thread === null) return null;
  if (loss.cause === "lock_contention") return `held by ${loss.thread}`;
  return loss.threads > 1 ? `${loss.threads} threads ${loss.thread}` : `thread ${loss.thread}`;
}

interface RowProps {
  loss: Loss;
  losses: readonly Loss[];
  view: WhyView;
  links: Links;
}

function Row({ loss, losses, view, links }: RowProps) {
  const most = Math.max(...losses.map((each) => each.core_ns), 1);
  const several = new Set(losses.map(({ pid }) => pid).filter((pid) => pid !== null)).size > 1;
  const { method, line, lock } = loss;
  const [toLock, toMethod] = [lock === null ? null : links.lock(lock), method === null ? null : links.method(method)];
  const thread = threadText(loss);
  return (
    <li data-cause={loss.cause}>
      <div class="loss-share" aria-hidden="true">
        <span style={{ width: `${(loss.core_ns / most) * 100}%`, background: "var(--muted)" }} />
      </div>
      <p class="loss-title">
        <Swatch part={{ key: loss.cause, isLost: true }} />
        <b title={view.meanings[loss.cause]}>{view.titles[loss.cause] ?? loss.cause}</b>
        <span class="loss-figures">
          <CoreTime value={loss.core_ns} /> of core time, <Percent value={loss.share} />
          <Gain loss={loss} />
        </span>
      </p>
      {(method !== null || lock !== null || thread !== null) && (
        <p class="loss-place">
          {method !== null && (
            <code>
              {method}
              {line !== null && `:${line}`}
            </code>
          )}
          {lock !== null && <code>{lock}</code>}
          {thread !== null && <span>{thread}</span>}
          {several && loss.pid !== null && <span>JVM {loss.pid}</span>}
          {toLock && (
            <button type="button" onClick={toLock}>
              see this lock
            </button>
          )}
          {toMethod && (
            <button type="button" onClick={toMethod}>
              find it in the flame graphs
            </button>
          )}
        </p>
      )}
      <details class="alternative">
        <summary>
          What says so<span class="sr-only">: {view.titles[loss.cause] ?? loss.cause}</span>
        </summary>
        <ul class="evidence">
          <li>{view.meanings[loss.cause] ?? loss.cause}.</li>
          {loss.evidence.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </details>
    </li>
  );
}
