// A call tree, unpacked: sums, children, and where each node starts. Apart from any drawing.
import { type FlameFrames, FRAME_KINDS, type FrameKind, type PackedTree } from "../payload/flame";

export const ROOT_FRAME = 0;
export const MERGED_FRAME = 1;

/** A call tree in columns, depth first. */
export interface Tree {
  size: number;
  parent: Int32Array;
  depth: Int32Array;
  frame: Int32Array;
  self: Float64Array;
  total: Float64Array;
  /** What it is compared with: null without a comparison. */
  otherSelf: Float64Array | null;
  otherTotal: Float64Array | null;
  /** How many frames a "(N smaller)" node stands for; 0 for all others. */
  merged: Int32Array;
  /** children of node i: child[firstChild[i]] .. child[firstChild[i + 1] - 1] */
  firstChild: Int32Array;
  child: Int32Array;
}

/** Unsigned LEB128 numbers, up to 2^53. */
export function unpack(base64: string, count: number): Float64Array {
  const text = atob(base64);
  const out = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = text.charCodeAt(at++);
      if (!(byte >= 0)) throw new Error("this page's data is cut short");
      value += (byte & 127) * scale;
      if (byte < 128) break;
      scale *= 128;
    }
    out[i] = value;
  }
  return out;
}

/** Unpack a tree, and sum it up. */
export function decode(packed: PackedTree): Tree {
  const size = packed.nodes;
  const frame = Int32Array.from(unpack(packed.frames, size));
  const self = unpack(packed.self, size);
  const otherSelf = packed.other === null ? null : unpack(packed.other, size);
  const { parent, depth } = parents(unpack(packed.ups, size));
  const places = frame.reduce((count, f) => count + (f === MERGED_FRAME ? 1 : 0), 0);
  const counts = unpack(packed.merged, places);
  const merged = new Int32Array(size);
  for (let i = 0, at = 0; i < size; i++) if (frame[i] === MERGED_FRAME) merged[i] = counts[at++] ?? 0;
  return {
    size,
    parent,
    depth,
    frame,
    self,
    total: totals(self, parent),
    otherSelf,
    otherTotal: otherSelf && totals(otherSelf, parent),
    merged,
    ...children(parent),
  };
}

function parents(ups: Float64Array): { parent: Int32Array; depth: Int32Array } {
  const parent = new Int32Array(ups.length).fill(-1);
  const depth = new Int32Array(ups.length);
  for (let i = 1; i < ups.length; i++) {
    let above = i - 1;
    for (let up = ups[i] ?? 0; up > 0; up--) above = parent[above] ?? 0;
    parent[i] = above;
    depth[i] = (depth[above] ?? 0) + 1;
  }
  return { parent, depth };
}

/** Depth first, a node comes after its parent: backwards, each is complete before it is added to its parent. */
function totals(self: Float64Array, parent: Int32Array): Float64Array {
  const total = Float64Array.from(self);
  for (let i = total.length - 1; i > 0; i--) {
    const above = parent[i] ?? 0;
    total[above] = (total[above] ?? 0) + (total[i] ?? 0);
  }
  return total;
}

function children(parent: Int32Array): { firstChild: Int32Array; child: Int32Array } {
  const size = parent.length;
  const firstChild = new Int32Array(size + 1);
  for (let i = 1; i < size; i++) firstChild[(parent[i] ?? 0) + 1] = (firstChild[(parent[i] ?? 0) + 1] ?? 0) + 1;
  for (let i = 0; i < size; i++) firstChild[i + 1] = (firstChild[i + 1] ?? 0) + (firstChild[i] ?? 0);
  const next = firstChild.slice(0, size);
  const child = new Int32Array(Math.max(0, size - 1));
  for (let i = 1; i < size; i++) {
    const above = parent[i] ?? 0;
    const at = next[above] ?? 0;
    child[at] = i;
    next[above] = at + 1;
  }
  return { firstChild, child };
}

/** Return a node's children. */
export function childrenOf(tree: Tree, node: number): Int32Array {
  return tree.child.subarray(tree.firstChild[node] ?? 0, tree.firstChild[node + 1] ?? 0);
}

/** Which of the two profiles gives the widths. */
export type Measure = "this" | "other";

/** A tree whose nodes have a place. */
export interface Arranged {
  tree: Tree;
  weight: Float64Array;
  /** Where each node starts, in the unit of the weights. Children: heaviest first, from their parent's start. */
  start: Float64Array;
}

/** Puts children in order of weight and gives every node its place. */
export function arrange(tree: Tree, measure: Measure): Arranged {
  const weight = (measure === "other" && tree.otherTotal) || tree.total;
  const start = new Float64Array(tree.size);
  for (let i = 0; i < tree.size; i++) {
    const below = childrenOf(tree, i);
    if (below.length > 1) below.sort((a, b) => (weight[b] ?? 0) - (weight[a] ?? 0) || a - b);
    let x = start[i] ?? 0;
    for (const c of below) {
      start[c] = x;
      x += weight[c] ?? 0;
    }
  }
  return { tree, weight, start };
}

/** Return how a node's code ran: Java, native, kernel ... */
export function kindOf(frames: FlameFrames, tree: Tree, node: number): FrameKind {
  return FRAME_KINDS[frames.kinds.charCodeAt(tree.frame[node] ?? 0) - 97] ?? "java";
}

/** Return a node's name; of merged ones how many they are. */
export function nameOf(frames: FlameFrames, tree: Tree, node: number): string {
  const frame = tree.frame[node] ?? 0;
  if (frame === MERGED_FRAME) return `(${(tree.merged[node] ?? 0).toLocaleString("en-US")} smaller)`;
  return frames.names[frame] ?? "?";
}

/** The nodes from the root to this one. */
export function pathTo(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let i = node; i >= 0; i = tree.parent[i] ?? -1) path.push(i);
  return path.reverse();
}

/** How much more of the whole a node takes here than in the other profile: -1..1; null without a comparison. */
export function change(tree: Tree, node: number): number | null {
  if (!tree.otherTotal) return null;
  const share = (totals: Float64Array) => ((totals[0] ?? 0) > 0 ? (totals[node] ?? 0) / (totals[0] ?? 1) : 0);
  return share(tree.total) - share(tree.otherTotal);
}
