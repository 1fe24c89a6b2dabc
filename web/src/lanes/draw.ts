// Draws the lanes that are in sight. A column of pixels shows shares of its span: running from the bottom, runnable above it,
// then uninterruptible; what is left is asleep. So a lane looks alike whether its intervals are exact or summed into bins.

import type { Payload } from "../payload/recording";
import { moment, ticks } from "../ui/format";
import type { Span } from "../ui/span";
import type { Theme } from "../ui/theme";
import { columns, type Track } from "./model";

export const ROW = 24;
export const AXIS = 24;

/** What is drawn: the threads in sight, the span of time, and what is chosen. */
export interface Scene {
  tracks: readonly Track[];
  span: Span;
  wall_ns: number;
  phases: Payload["phases"]["items"];
  scrollTop: number;
  selected: number;
  cursor_ns: number | null;
  band: Span | null;
}

/** Draw the lanes in sight. */
export function draw(canvas: HTMLCanvasElement, scene: Scene, theme: Theme): void {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const x = (t: number) => ((t - scene.span.from) / (scene.span.to - scene.span.from)) * width;
  drawPauses(context, scene, theme, x, width, height);
  drawGrid(context, scene, theme, x, width, height);
  const first = Math.max(0, Math.floor(scene.scrollTop / ROW));
  const last = Math.min(scene.tracks.length - 1, Math.ceil((scene.scrollTop + height - AXIS) / ROW));
  context.save();
  context.beginPath();
  context.rect(0, AXIS, width, height - AXIS);
  context.clip();
  for (let i = first; i <= last; i++) {
    const track = scene.tracks[i];
    if (track) drawLane(context, track, AXIS + i * ROW - scene.scrollTop, i === scene.selected, scene, theme, width);
  }
  context.restore();
  drawMarks(context, scene, theme, x, height);
}

function drawLane(
  context: CanvasRenderingContext2D,
  track: Track,
  top: number,
  selected: boolean,
  scene: Scene,
  theme: Theme,
  width: number,
): void {
  if (selected) {
    context.fillStyle = theme.selected;
    context.fillRect(0, top, width, ROW);
  }
  if (!track.exact && !track.bins) {
    drawLife(context, track, top, scene, theme, width);
    return;
  }
  const count = Math.max(1, Math.floor(width));
  const shares = columns(track, scene.span.from, scene.span.to, count, scene.wall_ns);
  const colours = [theme.running, theme.runnable, theme.sleeping, theme.other];
  const bottom = top + ROW - 4;
  const full = ROW - 8;
  const at = (c: number, s: number) => shares[c * 4 + s] ?? 0;
  const same = (a: number, b: number) => [0, 1, 2, 3].every((s) => at(a, s) === at(b, s));
  for (let c = 0; c < count; ) {
    let end = c + 1;
    while (end < count && same(c, end)) end++;
    if (at(c, 2) > 0) {
      context.fillStyle = theme.sleeping;
      context.fillRect(c, top + ROW / 2 - 1, end - c, 2);
    }
    let y = bottom;
    for (const s of [0, 1, 3]) {
      const share = at(c, s);
      if (share <= 0) continue;
      // A state that was there must be seen, however short it was.
      const height = Math.max(1, share * full);
      y -= height;
      context.fillStyle = colours[s] ?? theme.muted;
      context.fillRect(c, y, end - c, height);
    }
    c = end;
  }
}

/** Without states there is still a life, from birth to exit. */
function drawLife(
  context: CanvasRenderingContext2D,
  track: Track,
  top: number,
  scene: Scene,
  theme: Theme,
  width: number,
): void {
  const x = (t: number) => ((t - scene.span.from) / (scene.span.to - scene.span.from)) * width;
  const from = Math.max(0, x(track.lane.start_ns));
  const to = Math.min(width, x(track.lane.end_ns ?? scene.wall_ns));
  if (to < from) return;
  context.fillStyle = theme.muted;
  context.fillRect(from, top + ROW / 2 - 3, Math.max(1, to - from), 6);
}

type Project = (t: number) => number;

function drawPauses(
  context: CanvasRenderingContext2D,
  scene: Scene,
  theme: Theme,
  x: Project,
  width: number,
  height: number,
): void {
  context.fillStyle = theme.pause;
  for (const [start, dur, kind] of scene.phases) {
    if (kind !== "gc_pause") continue;
    const a = Math.max(0, x(start));
    const b = Math.min(width, x(start + dur));
    if (b > a) context.fillRect(a, AXIS, Math.max(1, b - a), height - AXIS);
  }
}

function drawGrid(
  context: CanvasRenderingContext2D,
  scene: Scene,
  theme: Theme,
  x: Project,
  width: number,
  height: number,
): void {
  const marks = ticks(scene.span.from, scene.span.to, Math.max(2, Math.floor(width / 110)));
  const step = (marks[1] ?? scene.span.to) - (marks[0] ?? 0);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (const t of marks) {
    const at = Math.round(x(t)) + 0.5;
    context.strokeStyle = theme.grid;
    context.beginPath();
    context.moveTo(at, AXIS - 4);
    context.lineTo(at, height);
    context.stroke();
    const label = moment(t, step);
    const room = context.measureText(label).width;
    context.fillStyle = theme.muted;
    context.fillText(label, Math.min(width - room, Math.max(0, at - room / 2)), AXIS / 2 - 1);
  }
}

function drawMarks(context: CanvasRenderingContext2D, scene: Scene, theme: Theme, x: Project, height: number): void {
  if (scene.cursor_ns !== null) {
    const at = Math.round(x(scene.cursor_ns)) + 0.5;
    context.strokeStyle = theme.focus;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(at, AXIS);
    context.lineTo(at, height);
    context.stroke();
  }
  if (scene.band) {
    const a = x(scene.band.from);
    const b = x(scene.band.to);
    context.globalAlpha = 0.2;
    context.fillStyle = theme.focus;
    context.fillRect(a, AXIS, b - a, height - AXIS);
    context.globalAlpha = 1;
  }
}
