// Which frames can be seen, and where: only these are drawn, so the cost follows the width of the screen, not the recording.
import { type Arranged, childrenOf, pathTo } from "./model";

/** Narrower frames are not drawn, in CSS pixels. */
export const NARROWEST = 0.3;

/** Frames of one depth, left to right. A negative node -1 - p stands for children of p that are too narrow to be drawn. */
export interface Row {
  node: number[];
  x: number[];
  w: number[];
}

/** The frames in sight, row by row. */
export interface Layout {
  rows: Row[];
  /** How many frames are in the rows; children drawn as one block count once. */
  drawn: number;
}

/** The frames below `zoomed`, which takes the whole width, and above them the path to it. */
export function layout(arranged: Arranged, zoomed: number, width: number): Layout {
  const { tree, weight } = arranged;
  const rows: Row[] = pathTo(tree, zoomed).map((node) => ({ node: [node], x: [0], w: [width] }));
  let drawn = rows.length;
  const whole = weight[zoomed] ?? 0;
  if (!(whole > 0) || !(width > 0)) return { rows, drawn };
  for (let above = rows[rows.length - 1]; above; ) {
    const row: Row = { node: [], x: [], w: [] };
    above.node.forEach((parent, i) => {
      if (parent >= 0) placeChildren(arranged, parent, above?.x[i] ?? 0, width / whole, row);
    });
    if (row.node.length === 0) break;
    rows.push(row);
    drawn += row.node.length;
    above = row;
  }
  return { rows, drawn };
}

function placeChildren({ tree, weight }: Arranged, parent: number, from: number, scale: number, row: Row): void {
  let x = from;
  let narrow = 0;
  for (const child of childrenOf(tree, parent)) {
    const w = (weight[child] ?? 0) * scale;
    if (w >= NARROWEST) {
      row.node.push(child);
      row.x.push(x);
      row.w.push(w);
      x += w;
    } else if (w > 0)
      narrow += w; // heaviest first: no wide one comes after it
    else break;
  }
  if (narrow >= NARROWEST) {
    row.node.push(-1 - parent);
    row.x.push(x);
    row.w.push(narrow);
  }
}

/** The node of a row under x; null where there is none. */
export function nodeAt(row: Row | undefined, x: number): number | null {
  if (!row) return null;
  let low = 0;
  let high = row.node.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((row.x[middle] ?? 0) <= x) low = middle;
    else high = middle - 1;
  }
  const from = row.x[low];
  return from !== undefined && x >= from && x < from + (row.w[low] ?? 0) ? (row.node[low] ?? null) : null;
}

/** Where a node is in its row: -1 when it is too narrow, or not in sight. */
export function indexIn(row: Row | undefined, node: number): number {
  return row ? row.node.indexOf(node) : -1;
}
