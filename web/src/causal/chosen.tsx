// The chosen line: its curve in full, the figures behind it, and its source.

import type { SourceLines } from "../payload/causal";
import { Integer } from "../ui/figure";
import { Head } from "../ui/head";
import { useRoving } from "../ui/roving";
import { TableAlternative } from "../ui/section";
import { useWidth } from "../ui/width";
import { LARGE_HEIGHT, Large, type Range } from "./curve";
import type { Row } from "./rows";
import { isWeak, outcome, plain, signed } from "./words";

interface Props {
  row: Row;
  range: Range;
}

/** The chosen line, shown large. */
export function Chosen({ row, range }: Props) {
  const [holder, width] = useWidth<HTMLDivElement>();
  const roving = useRoving(row.points.length);
  const { line } = row;
  const about = [line.class_name, line.method].filter((part) => part !== "").join(".");
  return (
    <div class={isWeak(row) ? "causal-chosen weak" : "causal-chosen"} id="chosen">
      <h3>
        <code>{line.name}</code>
      </h3>
      <p class="about" aria-live="polite">
        {about && <code>{about}</code>}
        <span>{outcome(row)}</span>
        <span>
          <data value={String(line.samples_pct)}>{plain(line.samples_pct)}</data> of the CPU time
        </span>
        {line.blocked_pct > 0 && (
          <span>
            <data value={String(line.blocked_pct)}>{plain(line.blocked_pct)}</data> of the time asleep in it
          </span>
        )}
      </p>
      {line.phase_share < 1 && (
        <p class="rest">
          It runs in {plain(line.phase_share * 100)} of the time only: what it gives is scaled down to the whole.
        </p>
      )}
      <div class="svg-holder" ref={holder}>
        {width > 0 && (
          <svg
            width={width}
            height={LARGE_HEIGHT}
            role="group"
            aria-label={`Program speedup by virtual speedup of ${line.name}`}
            onKeyDown={roving.onKeyDown}
          >
            <Large row={row} range={range} width={width} roving={roving} />
          </svg>
        )}
      </div>
      <Legend />
      {line.source && <Source source={line.source} />}
      <TableAlternative key={line.name} label="Table: the experiments with this line">
        {() => <PointTable row={row} />}
      </TableAlternative>
    </div>
  );
}

function Legend() {
  return (
    <p class="legend">
      <span class="key">
        <span class="swatch dot" />
        program speedup; a larger dot stands for more experiments
      </span>
      <span class="key">
        <span class="swatch band" />
        its 95 % interval
      </span>
      <span class="key">
        <span class="swatch ring" />
        the most it gives, by the fitted curve
      </span>
    </p>
  );
}

/** A percentage that may be unknown. */
export function MaybePct({ value }: { value: number | null }) {
  if (value !== null) return <data value={String(value)}>{signed(value)}</data>;
  return (
    <span class="unknown">
      <span aria-hidden="true">–</span>
      <span class="sr-only">unknown</span>
    </span>
  );
}

function PointTable({ row }: { row: Row }) {
  return (
    <table data-table="points">
      <Head names={["line faster by", "program", "from", "to", "visits", "experiments", "with a GC pause"]} />
      <tbody>
        {row.points.map((point) => (
          <tr key={point.virtual_pct}>
            <th scope="row">
              <data value={String(point.virtual_pct)}>{plain(point.virtual_pct)}</data>
            </th>
            {[point.program_pct, point.low_pct, point.high_pct].map((value, i) => (
              <td key={i}>
                <MaybePct value={value} />
              </td>
            ))}
            {[point.visits, point.experiments, point.gc_experiments].map((value, i) => (
              <td key={i}>
                <Integer value={value} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Source({ source }: { source: SourceLines }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="source" tabIndex={0} aria-label={`Source: ${source.file}`}>
      <p class="source-file">{source.file}</p>
      <pre>
        {source.lines.map((text, i) => {
          const number = source.first + i;
          const isTarget = number === source.target;
          return (
            <code key={number} class={isTarget ? "target" : undefined}>
              <span class="number">{number}</span>
              <span class="text">{text}</span>
              {isTarget && <span class="sr-only"> (this line)</span>}
              {"\n"}
            </code>
          );
        })}
      </pre>
    </section>
  );
}
