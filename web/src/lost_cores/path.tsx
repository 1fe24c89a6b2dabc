// The critical path in two small tables: what it consists of, and on which threads it lies.

import type { CriticalPath } from "../payload/lost_cores";
import { Duration, Percent } from "../ui/figure";
import { Head } from "../ui/head";

/** The critical path by state and by thread. */
export function PathTables({ path }: { path: CriticalPath }) {
  return (
    <div class="pair path">
      <Rows
        name="state"
        rows={path.states.map(([state, meaning, ns]) => [state.replaceAll("_", " "), ns, meaning])}
        length_ns={path.length_ns}
      />
      <Rows name="thread" rows={path.threads} length_ns={path.length_ns} />
    </div>
  );
}

function Rows({ name, rows, length_ns }: { name: string; rows: [string, number, string?][]; length_ns: number }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={`The critical path by ${name}`}>
      <table data-table={`path by ${name}`}>
        <Head names={[name, "time on the path", "share"]} />
        <tbody>
          {rows.map(([what, ns, meaning]) => (
            <tr key={`${what} ${ns}`}>
              <th scope="row" title={meaning ?? what}>
                {what}
              </th>
              <td>
                <Duration value={ns} />
              </td>
              <td>
                <Percent value={length_ns > 0 ? ns / length_ns : 0} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
