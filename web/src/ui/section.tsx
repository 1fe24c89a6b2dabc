// Parts of the report: a section with its heading, a chart's table, and a reason where there is nothing to draw.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface Props {
  id: string;
  title: string;
  lead?: ComponentChildren | undefined;
  children: ComponentChildren;
}

/** A part of the report: a landmark with a heading and one sentence that says how to read it. */
export function Section({ id, title, lead, children }: Props) {
  return (
    <section class="part" aria-labelledby={`${id}-title`} id={id}>
      <h2 id={`${id}-title`}>{title}</h2>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </section>
  );
}

/** The same data as a chart, as a table: closed, and not even built, until asked for. */
export function TableAlternative({ label, children }: { label: string; children: () => ComponentChildren }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="alternative" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {open && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="scroll" tabIndex={0} aria-label={label}>
          {children()}
        </section>
      )}
    </details>
  );
}

/** What stands in a view's place when there is nothing to draw: the reason. */
export function Missing({ reason }: { reason: string }) {
  return <p class="missing">{reason}</p>;
}
