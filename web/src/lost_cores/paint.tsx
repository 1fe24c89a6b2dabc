// One colour and one hatching for each part, so that lost cores are told from used ones, and causes apart, without colour.
import { useMemo } from "preact/hooks";
import { CAUSES } from "../payload/lost_cores";
import { type Theme, useTheme } from "../ui/theme";
import type { Part } from "./parts";

const TILE = 8;
/** Lines across a tile of 8 by 8, for each kind of hatching. */
const STROKES = ["M0 8L8 0M-2 2L2 -2M6 10L10 6", "M0 0L8 8M-2 6L2 10M6 -2L10 2", "M0 4H8", "M4 0V8", "M2 4H6M4 2V6"];
const OF_CAUSE: Record<string, number> = {
  ...{ serial_section: 0, lock_contention: 1, imbalance: 0, starved_consumer: 4, full_producer: 1, gc_pause: 0 },
  ...{ safepoint: 2, jit: 0, sleep: 2, io: 1, too_few_tasks: 3, scheduler: 3, cpu_quota: 4, jvm_start: 2 },
  ...{ jvm_end: 3, carriers: 4, condition: 0, waiting_for_threads: 4, blocked: 1, unknown: 2 },
};

/** The name of a part's colour: `--cost-lock-contention`. */
export const colourName = (key: string) => `cost-${key.replaceAll("_", "-")}`;
const colour = (key: string) => `var(--${colourName(key)}, var(--cost-unknown))`;
const strokesOf = (part: Pick<Part, "key" | "isLost">) =>
  part.isLost ? (STROKES[OF_CAUSE[part.key] ?? 2] ?? "") : null;

/** What a canvas paints a part with. */
export function useFills(parts: readonly Pick<Part, "key" | "isLost">[]): (string | CanvasPattern)[] {
  const theme = useTheme();
  return useMemo(() => parts.map((part) => fillOf(part, theme)), [parts, theme]);
}

function fillOf(part: Pick<Part, "key" | "isLost">, theme: Theme): string | CanvasPattern {
  const style = getComputedStyle(document.documentElement);
  const plain =
    style.getPropertyValue(`--${colourName(part.key)}`).trim() || style.getPropertyValue("--cost-unknown").trim();
  const strokes = strokesOf(part);
  const tile = document.createElement("canvas");
  tile.width = tile.height = Math.round(TILE * devicePixelRatio);
  const context = strokes === null ? null : tile.getContext("2d");
  if (!context || strokes === null) return plain;
  context.fillStyle = plain;
  context.fillRect(0, 0, tile.width, tile.height);
  context.scale(tile.width / TILE, tile.width / TILE);
  context.strokeStyle = theme.hatch;
  context.lineWidth = 1.5;
  context.stroke(new Path2D(strokes));
  return context.createPattern(tile, "repeat") ?? plain;
}

/** The same for SVG: what `fill` takes. Wants <Hatchings /> somewhere in the page. */
export const svgFill = (part: Pick<Part, "key" | "isLost">) =>
  part.isLost ? `url(#hatch-${part.key})` : colour(part.key);

/** The patterns that lost parts are filled with. */
export function Hatchings() {
  return (
    <svg class="hatchings" width="0" height="0" aria-hidden="true">
      <defs>
        {CAUSES.map((cause) => (
          <pattern key={cause} id={`hatch-${cause}`} width={TILE} height={TILE} patternUnits="userSpaceOnUse">
            <rect width={TILE} height={TILE} style={{ fill: colour(cause) }} />
            <path d={strokesOf({ key: cause, isLost: true }) ?? ""} class="hatch" />
          </pattern>
        ))}
      </defs>
    </svg>
  );
}

/** A part's colour in a legend. */
export function Swatch({ part }: { part: Pick<Part, "key" | "isLost"> }) {
  return (
    <svg class="swatch cost" width="14" height="14" aria-hidden="true">
      <rect width="14" height="14" fill={svgFill(part)} />
    </svg>
  );
}
