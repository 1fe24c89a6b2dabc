// Counts by row and column, each cell coloured by its size: who does how much to whom. The picture is the table itself, so that its
// numbers can be read, and sorted by any column.
import { useMemo, useState } from "preact/hooks";
import type { HeatMap, HeatRow } from "../payload/recording";
import { compact } from "../ui/format";
import { Name } from "../ui/name";
import { type Order, SortableHead } from "../ui/order";

/** The darkest cell, in percent of the colour: text stays readable on it. */
const DARKEST = 45;
const ALL = -1;

/** The heat map as a table that can be sorted. */
export function HeatTable({ heat }: { heat: HeatMap }) {
  const [kind, setKind] = useState(ALL);
  const [order, setOrder] = useState<Order | null>(null);
  const names = ["thread", ...heat.groups, ...heat.columns];
  const columns = names.map((name, i) => ({ name, isText: i === 0 }));
  const rows = useMemo(() => sorted(heat.rows, kind, order), [heat, kind, order]);
  const most = Math.max(0, ...heat.rows.flatMap((row) => row.cells.map((cell) => count(cell, kind))));
  return (
    <figure class="heat" data-heat={heat.title}>
      <figcaption>{heat.title}</figcaption>
      <p class="muted">
        The more, the darker, by powers of ten. Outlined: {heat.marks}. Choose a column's name to sort by it.
      </p>
      <label class="choice">
        counted are{" "}
        <select value={kind} onChange={(event) => setKind(Number(event.currentTarget.value))}>
          <option value={ALL}>all accesses</option>
          {heat.kinds.map((name, place) => (
            <option key={name} value={place}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroll" tabIndex={0} aria-label={heat.title}>
        <table>
          <SortableHead columns={columns} order={order ?? { column: ALL, descending: true }} onOrder={setOrder} />
          <tbody>
            {rows.map((row) => (
              <Row key={row.name} row={row} kind={kind} most={most} />
            ))}
          </tbody>
        </table>
      </section>
      {heat.left_out > 0 && <p>{heat.left_out} more rows and columns are in the command's JSON.</p>}
    </figure>
  );
}

function Row({ row, kind, most }: { row: HeatRow; kind: number; most: number }) {
  return (
    <tr>
      <th scope="row">
        <Name text={row.name} />
      </th>
      {row.groups.map((group, i) => (
        <td key={`group-${i}`} class={i === row.groups.length - 1 ? "last" : undefined}>
          <Count value={count(group, kind)} />
        </td>
      ))}
      {row.cells.map((cell, i) => (
        <td
          key={`cell-${i}`}
          class={i === row.own ? "own" : undefined}
          style={{ background: shade(count(cell, kind), most) }}
        >
          <Count value={count(cell, kind)} />
        </td>
      ))}
    </tr>
  );
}

function Count({ value }: { value: number }) {
  return (
    <data value={String(value)} title={value.toLocaleString("en-US")}>
      {compact(value)}
    </data>
  );
}

/** How many accesses of one kind, or of all together. */
export function count(counts: readonly number[], kind: number): number {
  return kind === ALL ? counts.reduce((sum, each) => sum + each, 0) : (counts[kind] ?? 0);
}

/** A cell's colour: by the logarithm, as threads' own objects are often used a thousand times as often as others'. */
export function shade(value: number, most: number): string {
  if (value <= 0 || most <= 0) return "transparent";
  const strength = (DARKEST * Math.log10(1 + value)) / Math.log10(1 + most);
  return `color-mix(in srgb, var(--app) ${strength.toFixed(1)}%, var(--surface))`;
}

/** Rows by a column: the name, then the groups, then the columns; as they came before anybody chose one. */
export function sorted(rows: readonly HeatRow[], kind: number, order: Order | null): readonly HeatRow[] {
  if (order === null) return rows;
  const sign = order.descending ? -1 : 1;
  const value = (row: HeatRow) => count([...row.groups, ...row.cells][order.column - 1] ?? [], kind);
  const compare =
    order.column === 0
      ? (a: HeatRow, b: HeatRow) => a.name.localeCompare(b.name)
      : (a: HeatRow, b: HeatRow) => value(a) - value(b);
  return [...rows].sort((a, b) => sign * compare(a, b));
}
