import type { ComponentChildren } from "preact";

/** One large figure with its name and a note. */
export function Tile({ label, note, children }: { label: string; note: string; children: ComponentChildren }) {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd class="value">{children}</dd>
      <dd class="note">{note}</dd>
    </div>
  );
}
