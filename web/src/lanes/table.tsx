// The threads that have lanes, as a table: how long each ran, waited for a core, and was blocked.

import type { Lane } from "../payload/recording";
import { Integer, MaybeDuration, Percent, Rounded } from "../ui/figure";
import { Head } from "../ui/head";
import { TableAlternative } from "../ui/section";

/** The times of each thread that has a lane. */
export function ThreadTable({ lanes }: { lanes: Lane[] }) {
  return (
    <TableAlternative label={`Table: the times of ${lanes.length === 1 ? "1 thread" : `${lanes.length} threads`}`}>
      {() => (
        <table id="thread-table">
          <Head
            names={[
              "thread",
              "kind",
              "tid",
              "running",
              "stolen",
              "runnable",
              "blocked",
              "switches",
              "share",
              "parallelism",
              "bottle height",
              "bottle width",
            ]}
          />
          <tbody>
            {lanes.map((lane) => (
              <tr key={lane.id}>
                <th scope="row">{lane.name}</th>
                <td class="text">{lane.kind}</td>
                <td>{lane.tid}</td>
                <td>
                  <MaybeDuration value={lane.running_ns} />
                </td>
                <td>
                  <MaybeDuration value={lane.stolen_ns} />
                </td>
                <td>
                  <MaybeDuration value={lane.runnable_ns} />
                </td>
                <td>
                  <MaybeDuration value={lane.blocked_ns} />
                </td>
                <td>{lane.switches === null ? "–" : <Integer value={lane.switches} />}</td>
                <td>{lane.share === null ? "–" : <Percent value={lane.share} />}</td>
                <td>{lane.mean_parallelism === null ? "–" : <Rounded value={lane.mean_parallelism} />}</td>
                <td>
                  <MaybeDuration value={lane.bottle_height_ns} />
                </td>
                <td>{lane.bottle_width === null ? "–" : <Rounded value={lane.bottle_width} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableAlternative>
  );
}
