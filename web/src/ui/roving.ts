// Moves the keyboard's focus within a row of marks.

import { useState } from "preact/hooks";

interface Roving {
  tabIndex: (i: number) => 0 | -1;
  onKeyDown: (event: KeyboardEvent) => void;
  onFocus: (i: number) => void;
}

/** One tab stop for a row of marks: arrows, Home and End move the focus between elements with data-mark="i". */
export function useRoving(count: number): Roving {
  const [current, setCurrent] = useState(0);
  const move = (event: KeyboardEvent, to: number) => {
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, to));
    setCurrent(next);
    const mark = (event.currentTarget as Element).querySelector<SVGElement>(`[data-mark="${next}"]`);
    mark?.focus();
  };
  return {
    tabIndex: (i) => (i === Math.min(current, count - 1) ? 0 : -1),
    onFocus: setCurrent,
    onKeyDown: (event) => {
      if (event.key === "ArrowRight" || event.key === "ArrowDown") move(event, current + 1);
      else if (event.key === "ArrowLeft" || event.key === "ArrowUp") move(event, current - 1);
      else if (event.key === "Home") move(event, 0);
      else if (event.key === "End") move(event, count - 1);
    },
  };
}
