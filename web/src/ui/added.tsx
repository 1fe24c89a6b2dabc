// Sections of analyses that packages add: sentences and tables, as the seam for analyses has them (report/analysis.py).
import { HeatTable } from "../charts/heat_map";
import { ScatterPlot } from "../charts/scatter";
import type { AddedSection, AddedTable } from "../payload/recording";
import { Rounded } from "./figure";
import { Head } from "./head";
import { Section } from "./section";

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
            <p key={sentence}>{sentence}</p>
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

function Rows({ table }: { table: AddedTable }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={table.title}>
      <table data-table={table.title}>
        <caption>{table.title}</caption>
        <Head names={table.columns} />
        <tbody>
          {table.rows.map((row) => (
            <tr key={row.join("\t")}>
              {row.map((cell, column) => (
                <td key={table.columns[column]} class={typeof cell === "string" ? "text" : undefined}>
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
  return isFraction ? <Rounded value={cell} /> : <span>{cell ?? "–"}</span>;
}
