// The speedup stack: one bar as long as there are cores. Used on the left; what is missing, and to what, on the right.

import type { Account } from "../payload/lost_cores";
import { Duration, Percent } from "../ui/figure";
import { number3, percent, tick, ticks } from "../ui/format";
import { Head } from "../ui/head";
import { coresText } from "../ui/page";
import { useRoving } from "../ui/roving";
import { TableAlternative } from "../ui/section";
import { useWidth } from "../ui/width";
import { Swatch, svgFill } from "./paint";
import { type Part, partsOf } from "./parts";

const [BAR, HEIGHT, EDGE, LABEL_ROOM] = [44, 84, 10, 76];

/** The speedup stack of an account. */
export function Stack({ account }: { account: Account }) {
  const [holder, room] = useWidth<HTMLDivElement>();
  const parts = partsOf(account);
  const roving = useRoving(parts.length);
  const wall_ns = account.end_ns - account.start_ns;
  const x = (cores: number) => EDGE + (cores / account.cores) * (room - 2 * EDGE);
  let below = 0;
  const placed = parts.map((part) => {
    const from = below;
    below += part.ns / wall_ns;
    return { part, from, to: below };
  });
  return (
    <>
      <div class="stack-holder" ref={holder}>
        {room > 0 && (
          <svg width={room} height={HEIGHT} role="group" aria-label="Speedup stack" onKeyDown={roving.onKeyDown}>
            {placed.map(({ part, from, to }, i) => (
              <g
                key={part.key}
                class="mark"
                data-mark={i}
                data-part={part.key}
                role="img"
                tabIndex={roving.tabIndex(i)}
                aria-label={describe(part, to - from, account)}
                onFocus={() => roving.onFocus(i)}
              >
                <title>{describe(part, to - from, account)}</title>
                <rect class="segment" x={x(from)} y={8} width={x(to) - x(from)} height={BAR} fill={svgFill(part)} />
                <rect class="hit" x={x(from)} y={6} width={Math.max(3, x(to) - x(from))} height={BAR + 4} />
                {x(to) - x(from) > LABEL_ROOM && (
                  <text class="in-bar" x={(x(from) + x(to)) / 2} y={8 + BAR / 2}>
                    {fit(part.title, x(to) - x(from))}
                  </text>
                )}
              </g>
            ))}
            {ticks(0, account.cores, Math.min(account.cores * 2, room / 60)).map((mark) => (
              <g key={mark} class="grid" aria-hidden="true">
                <text x={x(mark)} y={BAR + 24} text-anchor="middle">
                  {tick(mark)}
                </text>
              </g>
            ))}
            <text class="axis-name" x={room / 2} y={HEIGHT - 2}>
              cores
            </text>
          </svg>
        )}
      </div>
      <StackTable placed={placed} account={account} />
    </>
  );
}

/** As many characters as there is room for. */
function fit(title: string, width: number): string {
  const room = Math.floor(width / 6.6);
  return title.length <= room ? title : `${title.slice(0, Math.max(1, room - 1))}…`;
}

function describe(part: Part, cores: number, account: Account): string {
  const what = part.isLost ? `lost to ${part.title}` : part.title;
  return `${what}: ${coresText(cores)}, ${percent(account.core_ns > 0 ? part.ns / account.core_ns : 0)}`;
}

function StackTable({ placed, account }: { placed: { part: Part; from: number; to: number }[]; account: Account }) {
  return (
    <TableAlternative label={`Table: the ${placed.length} parts of ${coresText(account.cores)}`}>
      {() => (
        <table id="why-stack">
          <Head names={["part", "cores", "share", "core time"]} />
          <tbody>
            {placed.map(({ part, from, to }) => (
              <tr key={part.key}>
                <th scope="row">
                  <Swatch part={part} /> {part.isLost ? `lost: ${part.title}` : part.title}
                </th>
                <td>{number3(to - from)}</td>
                <td>
                  <Percent value={account.core_ns > 0 ? part.ns / account.core_ns : 0} />
                </td>
                <td>
                  <Duration value={part.ns} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableAlternative>
  );
}
