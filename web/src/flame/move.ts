// Moving among frames with the keyboard: a step goes where it looks like going.
import type { Arranged } from "./model";
import { childrenOf } from "./model";

export type Step = "deeper" | "up" | "left" | "right";

/** The frame that a step from `node` leads to: the heaviest it calls, its caller, or a neighbour; itself at an end. */
export function step({ tree, weight }: Arranged, node: number, where: Step): number {
  const seen = (i: number | undefined): i is number => i !== undefined && (weight[i] ?? 0) > 0;
  if (where === "up") return Math.max(0, tree.parent[node] ?? 0);
  if (where === "deeper") {
    const first = childrenOf(tree, node)[0];
    return seen(first) ? first : node;
  }
  const parent = tree.parent[node] ?? -1;
  if (parent < 0) return node;
  const siblings = childrenOf(tree, parent);
  const to = siblings[siblings.indexOf(node) + (where === "right" ? 1 : -1)];
  return seen(to) ? to : node;
}

/** Its place among its siblings that weigh anything, from 1, and their number. */
export function placeAmong({ tree, weight }: Arranged, node: number): [number, number] {
  const parent = tree.parent[node] ?? -1;
  if (parent < 0) return [1, 1];
  const siblings = childrenOf(tree, parent);
  let count = 0;
  while (count < siblings.length && (weight[siblings[count] ?? 0] ?? 0) > 0) count++;
  return [siblings.indexOf(node) + 1, count];
}
