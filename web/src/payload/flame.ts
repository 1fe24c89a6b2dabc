// Flame graphs, packed (report/html/flame_pack.py).
// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.
import type { MadeBy, Notice } from "./common";

export const FRAME_KINDS = [
  "java",
  "interpreted",
  "inlined",
  "c1",
  "native",
  "jvm",
  "kernel",
  "thread",
  "note",
  "all",
  "smaller",
] as const;
export type FrameKind = (typeof FRAME_KINDS)[number];

/** Names of frames, which all graphs of a page share. Frame 0 is the root, frame 1 what was merged: "(N smaller)". */
export interface FlameFrames {
  names: string[];
  kinds: string;
}

/** A call tree in depth-first order, each column unsigned LEB128 in base64. */
export interface PackedTree {
  nodes: number;
  /** How many levels up from the node before this one's parent lies: 0 where that node is the parent. */
  ups: string;
  frames: string;
  /** Weight of the frame itself, without what it calls. */
  self: string;
  /** The same in the profile that this one is compared with; null without one. */
  other: string | null;
  /** For each frame 1, in order: how many frames were merged into it. */
  merged: string;
}

export type Unit = "ns" | "bytes" | "count";

/** The profile that one is compared with. */
export interface Versus {
  name: string;
  total: number;
}

/** One flame graph. */
export interface Flame {
  /** What the samples count: "cpu", "wall", ... */
  event: string;
  /** One line for people: what this graph shows. */
  label: string;
  unit: Unit;
  total: number;
  versus: Versus | null;
  merged: PackedTree;
  /** The same with threads as the first level; null where the threads are not known. */
  by_thread: PackedTree | null;
  /** Why less is shown than was recorded, or other things to know; empty: nothing. */
  notes: string[];
}

/** The flame graphs of a page. */
export interface FlameSet {
  frames: FlameFrames;
  graphs: Flame[];
}

/** The payload of a page with a flame graph and nothing else (`headway flame`). */
export interface FlamePage {
  version: 1;
  page: "flame";
  made: MadeBy;
  title: string;
  notices: Notice[];
  flames: FlameSet;
}
