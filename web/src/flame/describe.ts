// A frame in words: for the tip under the pointer, the line below the graph and a screen reader alike.

import type { Flame, FlameFrames, FrameKind, Unit } from "../payload/flame";
import { duration, integer, number3, percent } from "../ui/format";
import { change, kindOf, type Measure, nameOf, type Tree } from "./model";

export const KIND_NAMES: Record<FrameKind, string> = {
  java: "Java",
  interpreted: "Java, interpreted",
  inlined: "Java, inlined",
  c1: "Java, compiled by C1",
  native: "native",
  jvm: "JVM",
  kernel: "kernel",
  thread: "thread",
  note: "no stack",
  all: "everything",
  smaller: "merged",
};

const BYTES: readonly [number, string][] = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];

/** A weight, rounded for people. */
export function amount(value: number, unit: Unit): string {
  if (unit === "ns") return duration(value);
  if (unit === "count") return integer(value);
  const [scale, name] = BYTES.find(([size]) => value >= size) ?? [1, "bytes"];
  return scale === 1 ? `${integer(value)} bytes` : `${number3(value / scale)} ${name}`;
}

/** The same to the last digit. */
export function exactly(value: number, unit: Unit): string {
  return unit === "count" ? integer(value) : `${integer(value)} ${unit}`;
}

/** A frame in words: its name, then a line per fact. */
export interface Description {
  title: string;
  lines: string[];
}

/** Return a frame's place, weight and share in words. */
export function describe(graph: Flame, frames: FlameFrames, tree: Tree, node: number, measure: Measure): Description {
  const totals = (measure === "other" && tree.otherTotal) || tree.total;
  const selves = (measure === "other" && tree.otherSelf) || tree.self;
  const [total, self, whole] = [totals[node] ?? 0, selves[node] ?? 0, totals[0] ?? 0];
  const kind = kindOf(frames, tree, node);
  const merged = kind === "smaller";
  const lines = [
    `${amount(total, graph.unit)} (${exactly(total, graph.unit)}), ${share(total, whole)} of all`,
    merged ? `${integer(tree.merged[node] ?? 0)} frames that are too small for this page, with their exact sum` : "",
    !merged && self > 0 ? `itself ${amount(self, graph.unit)}, ${share(self, whole)}` : "",
    compared(graph, tree, node),
  ];
  const name = nameOf(frames, tree, node);
  const kinds = kind === "all" || merged ? "" : ` (${KIND_NAMES[kind]})`;
  return { title: `${name}${kinds}`, lines: lines.filter((line) => line !== "") };
}

const share = (part: number, whole: number) => percent(whole > 0 ? part / whole : 0);

function compared(graph: Flame, tree: Tree, node: number): string {
  const by = change(tree, node);
  if (by === null || !tree.otherTotal || !graph.versus) return "";
  const sign = by > 0 ? "+" : by < 0 ? "−" : "±";
  const there = amount(tree.otherTotal[node] ?? 0, graph.unit);
  return `${sign}${number3(Math.abs(by) * 100)} points against ${graph.versus.name}, where it is ${there}`;
}
