// Columns beside each other on a grid: the frame of a bar chart. One tab stop; arrows go from column to column.
import type { ComponentChildren } from "preact";
import { useRoving } from "../ui/roving";
import { useWidth } from "../ui/width";

const PAD = { top: 16, right: 8, bottom: 40, left: 44 };
const LABEL_ROOM = 26;
const LETTER = 7.5;

/** Where a column stands: its middle, the room it has, and the height of a value (SVG's y, downwards). */
export interface Place {
  x: number;
  slot: number;
  y: (value: number) => number;
}

/** One column: its name, and how it is drawn. */
export interface Column {
  key: number;
  name: string;
  isStrong?: boolean;
  /** What a screen reader says of it. */
  said: string;
  draw: (place: Place) => ComponentChildren;
}

interface Props {
  columns: Column[];
  height: number;
  /** The least room for a column; more of them than fit scroll sideways. */
  least: number;
  range: [number, number];
  lines: { value: number; text: string }[];
  axis: string;
  label: string;
}

/** How many columns of a width a room holds without scrolling. */
export const columnsThatFit = (room: number, least: number) =>
  Math.max(1, Math.floor((room - PAD.left - PAD.right) / least));

/** Columns on a grid with an axis. */
export function Columns({ columns, height, least, range: [low, high], lines, axis, label }: Props) {
  const [holder, room] = useWidth<HTMLDivElement>();
  const roving = useRoving(columns.length);
  const width = Math.max(room, PAD.left + PAD.right + columns.length * least);
  const slot = (width - PAD.left - PAD.right) / columns.length;
  const inner = height - PAD.top - PAD.bottom;
  const y = (value: number) => height - PAD.bottom - ((value - low) / (high - low)) * inner;
  const longest = Math.max(...columns.map(({ name }) => name.length));
  const every = Math.ceil(Math.max(LABEL_ROOM, longest * LETTER + 4) / slot);
  return (
    <div
      class="svg-holder"
      ref={holder}
      {...(width > room ? { tabIndex: 0, role: "region", "aria-label": `${label}, scrolls sideways` } : {})}
    >
      {room > 0 && (
        <svg width={width} height={height} role="group" aria-label={label} onKeyDown={roving.onKeyDown}>
          {lines.map(({ value, text }) => (
            <g key={value} class="grid" aria-hidden="true">
              <line x1={PAD.left} x2={width - PAD.right} y1={y(value)} y2={y(value)} />
              <text x={PAD.left - 6} y={y(value)} text-anchor="end" dominant-baseline="middle">
                {text}
              </text>
            </g>
          ))}
          {columns.map((column, i) => {
            const x = PAD.left + (i + 0.5) * slot;
            return (
              <g
                key={column.key}
                class="mark"
                data-mark={i}
                role="img"
                tabIndex={roving.tabIndex(i)}
                aria-label={column.said}
                onFocus={() => roving.onFocus(i)}
              >
                <title>{column.said}</title>
                <rect class="hit" x={x - slot / 2} y={PAD.top} width={slot} height={inner + 18} />
                {column.draw({ x, slot, y })}
                {i % every === 0 && (
                  <text class={column.isStrong ? "label strong" : "label"} x={x} y={height - PAD.bottom + 16}>
                    {column.name}
                  </text>
                )}
              </g>
            );
          })}
          <text class="axis-name" x={PAD.left + (width - PAD.left - PAD.right) / 2} y={height - 4}>
            {axis}
          </text>
        </svg>
      )}
    </div>
  );
}
