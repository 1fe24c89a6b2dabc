// Figures over the numbers of threads as tables: one row per figure, one column per number of threads.
import type { ComponentChildren } from "preact";
import type { SweepRow } from "../payload/sweep";
import { TableAlternative } from "../ui/section";

/** A ratio with three digits; its exact value goes along. */
export function Ratio({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <Unknown />;
  return <data value={String(value)}>{ratio(value)}</data>;
}

/** Return a ratio with two or three digits. */
export function ratio(value: number): string {
  const text = value.toFixed(Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** A dash, said aloud as "unknown". */
export function Unknown() {
  return (
    <span class="unknown">
      <span aria-hidden="true">–</span>
      <span class="sr-only">unknown</span>
    </span>
  );
}

/** A row of figures: its label, and a cell for each number of threads. */
export interface Figure {
  label: string;
  cells: ComponentChildren[];
}

interface Props {
  rows: SweepRow[];
  figures: Figure[];
  name: string;
  first?: string;
}

/** A table of figures by number of threads. */
export function Figures({ rows, figures, name, first = "threads" }: Props) {
  return (
    <table data-table={name}>
      <thead>
        <tr>
          <th scope="col">{first}</th>
          {rows.map((row) => (
            <th scope="col" key={row.threads}>
              {row.threads}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {figures.map((figure) => (
          <tr key={figure.label}>
            <th scope="row" title={figure.label}>
              {figure.label}
            </th>
            {figure.cells.map((cell, i) => (
              <td key={rows[i]?.threads}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The same, always on show. */
export function ShownFigures(props: Props & { label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={props.label}>
      <Figures {...props} />
    </section>
  );
}

/** The same, closed until asked for. */
export function FiguresBelow(props: Props & { label: string }) {
  return <TableAlternative label={`Table: ${props.label}`}>{() => <Figures {...props} />}</TableAlternative>;
}
