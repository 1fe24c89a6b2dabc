// What a flat profile says of a line, beside what its speedup would give: a hot line may give nothing, a cold one a lot.

import { Head } from "../ui/head";
import { TableAlternative } from "../ui/section";
import { MaybePct } from "./chosen";
import type { Row } from "./rows";
import { gain, isWeak, outcome, plain, signed } from "./words";

/** Of those that give most, and of the hottest: so many each. */
const FIRST = 12;

interface Props {
  rows: readonly Row[];
  onChoose: (i: number) => void;
}

/** The places of the rows worth a bar, in their order: the first ones, and the hottest ones wherever they rank. */
export function worthABar(rows: readonly Row[]): number[] {
  const places = rows.map((_, i) => i);
  const hot = [...places].sort((a, b) => share(rows, b) - share(rows, a)).slice(0, FIRST);
  return [...new Set([...places.slice(0, FIRST), ...hot])].sort((a, b) => a - b);
}

const share = (rows: readonly Row[], i: number): number => rows[i]?.line.samples_pct ?? 0;

/** Each line's share of the CPU time beside what experiments found. */
export function Compare({ rows, onChoose }: Props) {
  const shown = worthABar(rows);
  const hottest = Math.max(1, ...shown.map((i) => share(rows, i)));
  const most = Math.max(1, ...rows.map((row) => Math.abs(gain(row) ?? 0)));
  return (
    <>
      <ul class="two-sided">
        <li class="two-sided-head" aria-hidden="true">
          <span>share of the CPU time</span>
          <span />
          <span>the most that a faster line gives</span>
        </li>
        {shown.map((i) => {
          const row = rows[i];
          return row && <Bars key={i} row={row} place={i} hottest={hottest} most={most} onChoose={onChoose} />;
        })}
      </ul>
      {rows.length > shown.length && <p class="rest">{rows.length - shown.length} more lines are in the table.</p>}
      <TableAlternative label="Table: all lines">{() => <LineTable rows={rows} />}</TableAlternative>
    </>
  );
}

interface BarsProps {
  row: Row;
  place: number;
  hottest: number;
  most: number;
  onChoose: (i: number) => void;
}

function Bars({ row, place, hottest, most, onChoose }: BarsProps) {
  const { line } = row;
  const value = gain(row);
  return (
    <li class={isWeak(row) ? "weak" : undefined} data-row={place}>
      <span class="left">
        <data value={String(line.samples_pct)}>{plain(line.samples_pct)}</data>
        <span class="bar share" style={{ width: `${(line.samples_pct / hottest) * 60}%` }} />
      </span>
      <button type="button" onClick={() => onChoose(place)} title={line.name} disabled={row.points.length === 0}>
        {line.name}
      </button>
      <span class="right">
        {value !== null && (
          <span class={value < 0 ? "bar loss" : "bar gain"} style={{ width: `${(Math.abs(value) / most) * 60}%` }} />
        )}
        {value === null ? (
          <span>{outcome(row)}</span>
        ) : (
          <data value={String(value)}>{value === 0 ? outcome(row) : signed(value)}</data>
        )}
      </span>
    </li>
  );
}

function LineTable({ rows }: { rows: readonly Row[] }) {
  const names = ["line", "CPU time", "asleep", "most it gives", "from", "to", "slope", "experiments", "outcome"];
  return (
    <table data-table="lines">
      <Head names={names} />
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            <th scope="row" title={row.line.method || row.line.name}>
              {row.line.name}
            </th>
            {[row.line.samples_pct, row.line.blocked_pct].map((value, k) => (
              <td key={k}>
                <data value={String(value)}>{plain(value)}</data>
              </td>
            ))}
            {[row.curve?.maximum_pct, row.curve?.maximum_low_pct, row.curve?.maximum_high_pct].map((value, k) => (
              <td key={k}>
                <MaybePct value={value ?? null} />
              </td>
            ))}
            <td>
              <Slope value={row.curve?.slope ?? null} />
            </td>
            <td>
              <data value={String(row.line.experiments)}>{row.line.experiments.toLocaleString("en-US")}</data>
            </td>
            <td class="text">{outcome(row)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Slope({ value }: { value: number | null }) {
  if (value === null) return <MaybePct value={null} />;
  return <data value={String(value)}>{value.toFixed(2).replace("-", "−")}</data>;
}
