// Draws the rows in sight. A frame's box is as wide as its weight; a gap of a pixel is taken from its right where there is room.

import type { FlameFrames, FrameKind } from "../payload/flame";
import type { Theme } from "../ui/theme";
import { KIND_NAMES } from "./describe";
import { indexIn, type Layout, type Row } from "./layout";
import { type Arranged, change, kindOf, nameOf } from "./model";
import type { Found } from "./search";

export const ROW = 18;
const FONT = "11px ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const PAD = 4;
/** A change of so many points has the full colour. */
const FULL_CHANGE = 0.1;

/** What is drawn: the graph, and what of it is chosen, found and pointed at. */
export interface Scene {
  arranged: Arranged;
  layout: Layout;
  frames: FlameFrames;
  /** Callers on top (icicle), or at the bottom (flame). */
  upsideDown: boolean;
  byChange: boolean;
  found: Found | null;
  zoomed: number;
  selected: number;
  pointed: number | null;
  scrollTop: number;
  /** Pixels of everything, of which the canvas shows a part. */
  height: number;
}

/** Return where a row begins, in pixels from the top. */
export function yOf(row: number, scene: Pick<Scene, "upsideDown" | "height">): number {
  return scene.upsideDown ? scene.height - (row + 1) * ROW : row * ROW;
}

/** Draws, and returns how many boxes it drew. */
export function draw(canvas: HTMLCanvasElement, scene: Scene, theme: Theme): number {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  if (!context) return 0;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  const pen: Pen = { context, theme, scene, letter: context.measureText("0").width || 7 };
  let drawn = 0;
  scene.layout.rows.forEach((row, depth) => {
    const y = yOf(depth, scene) - scene.scrollTop;
    if (y + ROW <= 0 || y >= height) return;
    for (let i = 0; i < row.node.length; i++) drawBox(pen, row, i, y);
    drawn += row.node.length;
  });
  drawOutline(pen, scene.selected, theme.focus);
  return drawn;
}

interface Pen {
  context: CanvasRenderingContext2D;
  theme: Theme;
  scene: Scene;
  letter: number;
}

function drawBox({ context, theme, scene, letter }: Pen, row: Row, i: number, y: number): void {
  const node = row.node[i] ?? 0;
  const x = row.x[i] ?? 0;
  const w = row.w[i] ?? 0;
  const { tree } = scene.arranged;
  if (node < 0) {
    context.fillStyle = theme["frame-all"];
    context.fillRect(x, y + ROW / 2 - 2, w, 4);
    return;
  }
  const above = (tree.depth[node] ?? 0) < (tree.depth[scene.zoomed] ?? 0);
  context.globalAlpha = above ? 0.6 : 1;
  context.fillStyle = colourOf(scene, theme, node);
  context.fillRect(x, y, w > 3 ? w - 1 : w, ROW - 1);
  context.globalAlpha = 1;
  if (node === scene.pointed) {
    context.fillStyle = theme.selected;
    context.fillRect(x, y, w, ROW - 1);
  }
  const letters = Math.floor((w - 2 * PAD) / letter);
  if (letters < 3) return;
  context.fillStyle = theme.text;
  // The font of a strange script may be wider than the letters that were counted: the last argument keeps it in its box.
  context.fillText(fit(nameOf(scene.frames, tree, node), letters), x + PAD, y + ROW / 2, w - 2 * PAD);
}

/** A name in at most so many letters: without its packages if need be, then cut. */
export function fit(name: string, letters: number): string {
  if (name.length <= letters) return name;
  const short = name.replace(/^(?:[\p{Ll}\p{N}_$]+[./])+(?=[\p{Lu}])/u, "");
  return short.length <= letters ? short : `${short.slice(0, letters - 1)}…`;
}

function colourOf(scene: Scene, theme: Theme, node: number): string {
  const { tree } = scene.arranged;
  if (scene.found) return scene.found.frames[tree.frame[node] ?? 0] ? theme["frame-found"] : theme["frame-all"];
  const by = scene.byChange ? change(tree, node) : null;
  return by === null ? theme[`frame-${kindOf(scene.frames, tree, node)}`] : changeColour(by, theme);
}

/** From the neutral colour to that of growth or of decline, in proportion. */
export function changeColour(by: number, theme: Theme): string {
  const part = Math.min(1, Math.abs(by) / FULL_CHANGE);
  return mix(theme["frame-same"], by > 0 ? theme["frame-more"] : theme["frame-less"], part);
}

function mix(a: string, b: string, part: number): string {
  const channels = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const to = channels(b);
  const mixed = channels(a).map((value, i) => Math.round(value + ((to[i] ?? 0) - value) * part));
  return `rgb(${mixed.join(",")})`;
}

function drawOutline({ context, scene }: Pen, node: number, colour: string): void {
  const depth = scene.arranged.tree.depth[node] ?? 0;
  const row = scene.layout.rows[depth];
  const i = indexIn(row, node);
  if (!row || i < 0) return;
  context.strokeStyle = colour;
  context.lineWidth = 2;
  const w = Math.max(2, (row.w[i] ?? 0) - 2);
  context.strokeRect((row.x[i] ?? 0) + 1, yOf(depth, scene) - scene.scrollTop + 1, w, ROW - 3);
}

/** The kinds that a tree has, for the legend. */
export function kindsIn(frames: FlameFrames, { tree }: Arranged): FrameKind[] {
  const seen = new Set<FrameKind>();
  for (let i = 0; i < tree.size; i++) seen.add(kindOf(frames, tree, i));
  return (Object.keys(KIND_NAMES) as FrameKind[]).filter((kind) => seen.has(kind) && kind !== "all");
}
