// The graph as a table: every method with its own weight and its total, exact. The totals are those that the widths show.

import { type Flame, type FlameFrames, FRAME_KINDS } from "../payload/flame";
import { integer, percent } from "../ui/format";
import { TableAlternative } from "../ui/section";
import { amount, KIND_NAMES } from "./describe";
import { type Arranged, MERGED_FRAME, ROOT_FRAME, type Tree } from "./model";

const ROWS = 100;

/** A frame's own weight, and that of all it calls. */
export interface FrameSums {
  frame: number;
  self: number;
  total: number;
}

/** Sums per frame, most own weight first. A frame below itself (recursion) counts once. */
export function sums(tree: Tree, self: Float64Array, total: Float64Array): FrameSums[] {
  const found = new Map<number, FrameSums>();
  const above: number[] = []; // the frames from the root to the node
  const open = new Map<number, number>();
  for (let i = 0; i < tree.size; i++) {
    const frame = tree.frame[i] ?? 0;
    while (above.length > (tree.depth[i] ?? 0)) {
      const left = above.pop() ?? 0;
      open.set(left, (open.get(left) ?? 1) - 1);
    }
    const row = found.get(frame) ?? { frame, self: 0, total: 0 };
    found.set(frame, row);
    row.self += self[i] ?? 0;
    if (!open.get(frame)) row.total += total[i] ?? 0;
    above.push(frame);
    open.set(frame, (open.get(frame) ?? 0) + 1);
  }
  found.delete(ROOT_FRAME);
  return [...found.values()].sort((a, b) => b.self - a.self || b.total - a.total || a.frame - b.frame);
}

interface Props {
  graph: Flame;
  frames: FlameFrames;
  arranged: Arranged;
  own: Float64Array;
}

/** The graph as a table of methods. */
export function FrameTable({ graph, frames, arranged, own }: Props) {
  return (
    <TableAlternative label="Table: the frames with most weight of their own">
      {() => <Rows graph={graph} frames={frames} arranged={arranged} own={own} />}
    </TableAlternative>
  );
}

function Rows({ graph, frames, arranged, own }: Props) {
  const whole = arranged.weight[0] ?? 0;
  const all = sums(arranged.tree, own, arranged.weight);
  const share = (value: number) => percent(whole > 0 ? value / whole : 0);
  return (
    <table class="frames">
      <thead>
        <tr>
          {["frame", "kind", "itself", "of all", "with what it calls", "of all"].map((name, i) => (
            <th scope="col" key={i}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {all.slice(0, ROWS).map((row) => (
          <tr key={row.frame}>
            <th scope="row" title={frames.names[row.frame]}>
              {row.frame === MERGED_FRAME ? "(smaller, merged)" : frames.names[row.frame]}
            </th>
            <td class="text">{KIND_NAMES[FRAME_KINDS[frames.kinds.charCodeAt(row.frame) - 97] ?? "java"]}</td>
            <td>
              <data value={String(row.self)}>{amount(row.self, graph.unit)}</data>
            </td>
            <td>{share(row.self)}</td>
            <td>
              <data value={String(row.total)}>{amount(row.total, graph.unit)}</data>
            </td>
            <td>{share(row.total)}</td>
          </tr>
        ))}
      </tbody>
      {all.length > ROWS && (
        <tfoot>
          <tr>
            <th scope="row">{integer(all.length - ROWS)} more frames</th>
            <td colSpan={5} />
          </tr>
        </tfoot>
      )}
    </table>
  );
}
