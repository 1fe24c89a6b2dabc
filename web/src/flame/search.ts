// Finding frames by name, and how much of the whole the found ones take.

import type { FlameFrames } from "../payload/flame";
import { MERGED_FRAME, type Tree } from "./model";

/** Which frames a search matches, or what is wrong with its pattern. */
export interface Found {
  /** 1 for each frame whose name matches. */
  frames: Uint8Array;
  problem: string | null;
}

/** Plain text finds a part of the name, whatever its case; /text/ is a regular expression (flags may follow). */
export function findFrames(frames: FlameFrames, query: string): Found | null {
  const text = query.trim();
  if (text === "") return null;
  const regex = /^\/(.+)\/([a-z]*)$/s.exec(text);
  const wanted = text.toLowerCase();
  let matches = (name: string) => name.toLowerCase().includes(wanted);
  if (regex) {
    try {
      const pattern = new RegExp(regex[1] ?? "", (regex[2] ?? "").replace(/[gy]/g, ""));
      matches = (name) => pattern.test(name);
    } catch (error) {
      const problem = `${text} is not a regular expression: ${(error as Error).message}`;
      return { frames: new Uint8Array(frames.names.length), problem };
    }
  }
  return {
    frames: Uint8Array.from(frames.names, (name, i) => (i > MERGED_FRAME && matches(name) ? 1 : 0)),
    problem: null,
  };
}

/** How many nodes match, and what they weigh together. */
export interface Matched {
  nodes: number;
  weight: number;
  /** The heaviest of them; -1 without one. */
  heaviest: number;
}

/** Sums the matching frames below `zoomed` (it included), each moment once: not again below a frame that matches. */
export function matched(tree: Tree, weight: Float64Array, found: Found, zoomed: number): Matched {
  const result: Matched = { nodes: 0, weight: 0, heaviest: -1 };
  let last = zoomed + 1;
  while (last < tree.size && (tree.depth[last] ?? 0) > (tree.depth[zoomed] ?? 0)) last++;
  let inside = -1; // the depth of the topmost match that we are below
  for (let i = zoomed; i < last; i++) {
    const depth = tree.depth[i] ?? 0;
    if (inside >= 0 && depth <= inside) inside = -1;
    if (!found.frames[tree.frame[i] ?? 0] || !((weight[i] ?? 0) > 0)) continue;
    result.nodes++;
    if (inside >= 0) continue;
    inside = depth;
    result.weight += weight[i] ?? 0;
    if (result.heaviest < 0 || (weight[i] ?? 0) > (weight[result.heaviest] ?? 0)) result.heaviest = i;
  }
  return result;
}
