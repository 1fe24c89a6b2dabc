// Sections of analyses that packages add: sentences and tables, as the seam for analyses has them (report/analysis.py).
import { HeatTable } from "../charts/heat_map";
import { ScatterPlot } from "../charts/scatter";
import type { AddedSection, AddedTable } from "../payload/recording";
import { Rounded } from "./figure";
import { Head } from "./head";
import { Name } from "./name";
import { Section } from "./section";

/** The sections of analyses that have no view of their own. */
export function Added({ sections }: { sections: AddedSection[] }) {
  return (
    <>
      {sections.map((section) => (
        <Section
          id={`added-${section.name}`}
          key={section.name}
          title={section.title}
          lead={section.package === "headway" ? undefined : `By ${section.package}.`}
        >
          {section.sentences.map((sentence) => (
            <p class="sentence" key={sentence}>
              {sentence}
            </p>
          ))}
          {section.tables.map((table) => (
            <Rows key={table.title} table={table} />
          ))}
          {section.heat_map && <HeatTable heat={section.heat_map} />}
          {section.scatter && <ScatterPlot scatter={section.scatter} />}
        </Section>
      ))}
    </>
  );
}

/** Whether a cell is a figure, with its unit or its interval, if any: "12", "1.5 s (1 s to 2 s)", "<0.1%". */
export const isFigure = (cell: string | number | null) => typeof cell !== "string" || /^[<~≥≤±+–-]?\s?\d/.test(cell);

function Rows({ table }: { table: AddedTable }) {
  const hasWords = (column: number) => !table.rows.every((row) => isFigure(row[column] ?? null));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={table.title}>
      <table data-table={table.title} class="words">
        <caption>{table.title}</caption>
        <Head names={table.columns} hasWords={hasWords} />
        <tbody>
          {table.rows.map((row) => (
            <tr key={row.join("\t")}>
              {row.map((cell, column) => (
                <td key={table.columns[column]} class={hasWords(column) ? "text" : "figure"}>
                  <Value cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.left_out > 0 && <p>{table.left_out} more rows are in the command's JSON.</p>}
    </section>
  );
}

/** A cell as people read it; null is not known. */
function Value({ cell }: { cell: string | number | null }) {
  const isFraction = typeof cell === "number" && !Number.isInteger(cell);
  if (typeof cell === "string") return <Name text={cell} />;
  return isFraction ? <Rounded value={cell} /> : <span>{cell ?? "–"}</span>;
}
