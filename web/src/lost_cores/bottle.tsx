// The bottle graph (Du Bois et al., OOPSLA 2013): a box per thread, as high as its part of the wall time, as wide as the
// number of threads active beside it. Narrow and high at the neck: what keeps the program from being parallel.

import { KIND_NAMES } from "../charts/timeline";
import { KINDS, type Kind } from "../payload/common";
import type { Bottle } from "../payload/lost_cores";
import { Duration, Integer, Percent, Rounded } from "../ui/figure";
import { duration, integer, number3, percent, tick, ticks, withoutMiddle } from "../ui/format";
import { Head } from "../ui/head";
import { useRoving } from "../ui/roving";
import { TableAlternative } from "../ui/section";
import { useWidth } from "../ui/width";

const [INNER, TOP, BOTTOM, NAMES] = [280, 8, 36, 190];

interface Props {
  bottles: Bottle[];
  wall_ns: number;
}

const isKind = (kind: string): kind is Kind => (KINDS as readonly string[]).includes(kind);

const colourOf = (kind: string) => (isKind(kind) ? `var(--${kind})` : "var(--muted)");

const nameOf = (bottle: Bottle) =>
  bottle.threads === 1 ? bottle.name : `${integer(bottle.threads)} other threads together`;

function describe(bottle: Bottle, wall_ns: number): string {
  return (
    `${nameOf(bottle)} (${bottle.kind}): ${duration(bottle.height_ns)} of the wall time, ` +
    `${percent(bottle.height_ns / wall_ns)}, with ${number3(bottle.width)} threads active on average`
  );
}

/** Narrow boxes on top, as in a bottle. */
export const neckFirst = (bottles: readonly Bottle[]) => [...bottles].sort((a, b) => a.width - b.width);

/** The bottle graph: a box per thread. */
export function BottleGraph({ bottles, wall_ns }: Props) {
  const [holder, room] = useWidth<HTMLDivElement>();
  const sorted = neckFirst(bottles);
  const roving = useRoving(sorted.length);
  const widest = Math.max(1, ...sorted.map((bottle) => bottle.width));
  const names = room > 620 ? NAMES : 110;
  const centre = (room - names) / 2;
  const half = (parallelism: number) => (parallelism / widest) * (centre - 12);
  const scale =
    INNER /
    Math.max(
      wall_ns,
      sorted.reduce((sum, bottle) => sum + bottle.height_ns, 0),
    );
  let y = TOP;
  const placed = sorted.map((bottle) => {
    const from = y;
    y += bottle.height_ns * scale;
    return { bottle, from, height: y - from };
  });
  return (
    <>
      <div class="stack-holder" ref={holder}>
        {room > 0 && (
          <svg
            width={room}
            height={TOP + INNER + BOTTOM}
            role="group"
            aria-label="Bottle graph"
            onKeyDown={roving.onKeyDown}
          >
            <line class="grid-line" x1={centre} x2={centre} y1={TOP} y2={TOP + INNER} />
            {placed.map(({ bottle, from, height }, i) => (
              <g
                key={`${bottle.name} ${i}`}
                class="mark"
                data-mark={i}
                role="img"
                tabIndex={roving.tabIndex(i)}
                aria-label={describe(bottle, wall_ns)}
                onFocus={() => roving.onFocus(i)}
              >
                <title>{describe(bottle, wall_ns)}</title>
                <rect
                  class="bottle"
                  x={centre - half(bottle.width)}
                  y={from}
                  width={2 * half(bottle.width)}
                  height={Math.max(0.5, height)}
                  style={{ fill: colourOf(bottle.kind) }}
                />
                <rect class="hit" x={0} y={from} width={room} height={Math.max(2, height)} />
                {height > 13 && (
                  <text class="name-of-box" x={room - names + 4} y={from + height / 2}>
                    {cut(nameOf(bottle), names)}
                  </text>
                )}
              </g>
            ))}
            {ticks(0, widest, Math.max(1, centre / 60)).flatMap((mark) =>
              (mark === 0 ? [0] : [-1, 1]).map((side) => (
                <g key={`${side} ${mark}`} class="grid" aria-hidden="true">
                  <text x={centre + side * half(mark)} y={TOP + INNER + 16} text-anchor="middle">
                    {tick(mark)}
                  </text>
                </g>
              )),
            )}
            <text class="axis-name" x={centre} y={TOP + INNER + 33}>
              threads active beside it
            </text>
          </svg>
        )}
      </div>
      <p class="legend">
        {[...new Set(bottles.map((bottle) => bottle.kind))].map((kind) => (
          <span class="key" key={kind}>
            <span class="swatch" style={{ background: colourOf(kind) }} />
            {isKind(kind) ? KIND_NAMES[kind] : kind}
          </span>
        ))}
      </p>
      <BottleTable bottles={sorted} wall_ns={wall_ns} />
    </>
  );
}

const cut = (name: string, width: number) => withoutMiddle(name, Math.floor((width - 8) / 6.6));

function BottleTable({ bottles, wall_ns }: Props) {
  return (
    <TableAlternative label={`Table: the ${bottles.length} boxes`}>
      {() => (
        <table id="why-bottles">
          <Head names={["thread", "kind", "threads", "part of the wall time", "share", "parallelism"]} />
          <tbody>
            {bottles.map((bottle, i) => (
              <tr key={`${bottle.name} ${i}`}>
                <th scope="row">{nameOf(bottle)}</th>
                <td class="text">{bottle.kind}</td>
                <td>
                  <Integer value={bottle.threads} />
                </td>
                <td>
                  <Duration value={bottle.height_ns} />
                </td>
                <td>
                  <Percent value={bottle.height_ns / wall_ns} />
                </td>
                <td>
                  <Rounded value={bottle.width} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableAlternative>
  );
}
