// Every line's curve as a small one: a row of choices, of which one is shown large.
import { useState } from "preact/hooks";
import { type Range, Shape, SMALL } from "./curve";
import type { Row } from "./rows";
import { isWeak, outcome, plain } from "./words";

/** So many at first; the rest when asked for. */
const FIRST = 24;

interface Props {
  rows: readonly Row[];
  range: Range;
  chosen: number;
  onChoose: (i: number) => void;
}

/** A row of small curves, one of which can be chosen. */
export function Multiples({ rows, range, chosen, onChoose }: Props) {
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, Math.max(FIRST, chosen + 1));
  const onKeyDown = (event: KeyboardEvent) => {
    const to = after(event.key, chosen, shown.length);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onChoose(to);
    (event.currentTarget as Element).querySelector<HTMLElement>(`[data-line="${to}"]`)?.focus();
  };
  return (
    <>
      <div class="multiples" role="radiogroup" aria-label="Lines, the most decisive first" onKeyDown={onKeyDown}>
        {shown.map((row, i) => (
          <button
            key={i}
            type="button"
            role="radio"
            aria-checked={i === chosen}
            tabIndex={i === chosen ? 0 : -1}
            data-line={i}
            class={isWeak(row) ? "multiple weak" : "multiple"}
            aria-label={`${row.line.name}: ${outcome(row)}; ${plain(row.line.samples_pct)} of the CPU time`}
            onClick={() => onChoose(i)}
          >
            <span class="multiple-name" title={row.line.name}>
              {row.line.name}
            </span>
            <svg viewBox={`0 0 ${SMALL.width} ${SMALL.height}`} aria-hidden="true">
              <Shape row={row} frame={SMALL} range={range} name={`small-${i}`} />
            </svg>
            <span class="multiple-outcome">{outcome(row)}</span>
          </button>
        ))}
      </div>
      {shown.length < rows.length && (
        <p class="toolbar">
          <button type="button" onClick={() => setAll(true)}>
            Show {rows.length - shown.length} more
          </button>
        </p>
      )}
    </>
  );
}

/** Where a key leads from the line `at`, or null for a key that means something else. */
export function after(key: string, at: number, count: number): number | null {
  if (key === "ArrowRight" || key === "ArrowDown") return Math.min(count - 1, at + 1);
  if (key === "ArrowLeft" || key === "ArrowUp") return Math.max(0, at - 1);
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : null;
}
