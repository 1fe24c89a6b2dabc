// What the cores were lost to: cause, place, how much, what it could give, and what says so.
import { number3 } from "../format";
import { Duration, Integer, Percent } from "../parts/figure";
import { Swatch } from "./paint";
import type { Account, Loss, WhyView } from "./payload";

/** The lines that a person needs: so many at most, and none below this share of the core time. The rest unfolds. */
const FIRST = 10;
const SMALL = 0.001;
const WORTH_SAYING = 1.005;

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

export function Losses({ account, view, links }: Props) {
  const { losses, more } = account;
  if (losses.length === 0) return <p class="missing">No core time was lost.</p>;
  const first = Math.max(1, Math.min(FIRST, losses.filter((loss) => loss.share >= SMALL).length));
  const row = (loss: Loss, i: number) => <Row key={i} loss={loss} losses={losses} view={view} links={links} />;
  return (
    <>
      <ol class="losses">{losses.slice(0, first).map(row)}</ol>
      {losses.length > first && (
        <details class="alternative">
          <summary>
            {losses.length - first === 1 ? "1 smaller loss" : `${losses.length - first} smaller losses`}
          </summary>
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

/** "OrderBook.match:12", "ReentrantLock@1f, held by worker-3", or the thread alone. */
export function threadText(loss: Loss): string | null {
  if (loss.thread === null) return null;
  return loss.cause === "lock_contention" ? `held by ${loss.thread}` : `thread ${loss.thread}`;
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
          <Duration value={loss.core_ns} /> of core time, <Percent value={loss.share} />
          {loss.bound !== null && loss.bound >= WORTH_SAYING && (
            <span class="loss-bound">
              {"; without it at most "}
              <data value={String(loss.bound)}>{number3(loss.bound)}</data>
              {" times as fast"}
            </span>
          )}
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
