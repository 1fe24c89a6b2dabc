// The facts of a recording under their headings: what was recorded, where and how.

import type { Payload } from "../payload/recording";
import { Section } from "./section";

/** What was recorded, where and how. */
export function Facts({ facts }: { facts: Payload["facts"] }) {
  return (
    <Section id="facts" title="Facts" lead="What was recorded, where and how, and what held while it was.">
      <div class="facts">
        {facts.map((group) => (
          <table key={group.heading}>
            <caption>{group.heading}</caption>
            <tbody>
              {group.rows.map((row) => (
                <tr key={row.label}>
                  <th scope="row">{row.label}</th>
                  <td>{row.value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        ))}
      </div>
    </Section>
  );
}
