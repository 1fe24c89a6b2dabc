// Flame graphs as Python packs them (src/headway/report/html/flame_pack.py writes them; keep the two alike).

/** What a frame is: `FlameFrames.kinds` holds one letter per frame, "a" for the first of these. */
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

export interface Flame {
  /** What the samples count: "cpu", "wall", ... */
  event: string;
  /** One line for people: what this graph shows. */
  label: string;
  unit: Unit;
  total: number;
  /** Total and name of the profile that it is compared with. */
  versus: { name: string; total: number } | null;
  merged: PackedTree;
  /** The same with threads as the first level; null where the threads are not known. */
  by_thread: PackedTree | null;
  /** Why less is shown than was recorded, or other things to know; empty: nothing. */
  notes: string[];
}

export interface FlameSet {
  frames: FlameFrames;
  graphs: Flame[];
}

/** The payload of a page with a flame graph and nothing else (`headway flame`). */
export interface FlamePage {
  version: 1;
  page: "flame";
  made: { headway: string; recorded_utc: string; recording: string };
  title: string;
  notices: { id: string; message: string; remedy: string }[];
  flames: FlameSet;
}
