// The graph itself: a canvas for the eye, and one tree item at a time for a screen reader.
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Flame, FlameFrames } from "../payload/flame";
import { useMedia, useTheme } from "../ui/theme";
import { Tip } from "../ui/tip";
import { useWidth } from "../ui/width";
import { type Description, describe } from "./describe";
import { draw, ROW, type Scene, yOf } from "./draw";
import { indexIn, layout, nodeAt } from "./layout";
import { type Arranged, childrenOf, type Measure, nameOf } from "./model";
import { placeAmong, type Step, step } from "./move";
import type { Found } from "./search";

const TALLEST = 560;
const TALLEST_IN_PRINT = 4000;

interface Props {
  graph: Flame;
  frames: FlameFrames;
  arranged: Arranged;
  measure: Measure;
  upsideDown: boolean;
  byChange: boolean;
  found: Found | null;
  zoomed: number;
  onZoom: (node: number) => void;
}

interface Pointed {
  node: number;
  x: number;
  y: number;
}

/** One flame graph with its pointer, keyboard and screen reader. */
export function Graph(props: Props) {
  const { graph, frames, arranged, measure, upsideDown, byChange, found, zoomed, onZoom } = props;
  const { tree } = arranged;
  const theme = useTheme();
  const isPrinted = useMedia("print");
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [space, width] = useWidth<HTMLDivElement>();
  const [selected, setSelected] = useState(zoomed);
  const [back, setBack] = useState<number[]>([]);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const shown = useMemo(() => layout(arranged, zoomed, width), [arranged, zoomed, width]);
  const height = Math.max(4, shown.rows.length) * ROW;
  const room = Math.min(height, isPrinted ? TALLEST_IN_PRINT : TALLEST);
  const scene: Scene = {
    ...{ arranged, layout: shown, frames, upsideDown, byChange, found, zoomed, selected, scrollTop, height },
    pointed: pointed?.node ?? null,
  };

  useLayoutEffect(() => {
    if (!canvas.current || width === 0) return;
    canvas.current.dataset.inLayout = String(shown.drawn);
    canvas.current.dataset.drawn = String(draw(canvas.current, scene, theme));
  });

  // The callers are what one looks at first, wherever they are.
  useLayoutEffect(() => {
    if (scroller.current) scroller.current.scrollTop = upsideDown ? scroller.current.scrollHeight : 0;
  }, [upsideDown]);

  const zoomTo = (node: number) => {
    if (node === zoomed) return;
    setBack([...back, zoomed].slice(-100));
    onZoom(node);
    reveal(node);
  };
  const zoomBack = () => {
    const to = back[back.length - 1] ?? 0;
    setBack(back.slice(0, -1));
    onZoom(to);
    reveal(to);
  };
  const reveal = (node: number) => {
    const element = scroller.current;
    if (!element) return;
    const y = yOf(tree.depth[node] ?? 0, scene);
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + ROW > element.scrollTop + element.clientHeight) element.scrollTop = y + ROW - element.clientHeight;
  };
  /** A frame that is chosen is seen: where it is too narrow, the view goes to its caller, and if need be to itself. */
  const choose = (node: number) => {
    setSelected(node);
    const seen = (from: number) => indexIn(layout(arranged, from, width).rows[tree.depth[node] ?? 0], node) >= 0;
    if (seen(zoomed)) reveal(node);
    else {
      const parent = Math.max(0, tree.parent[node] ?? 0);
      zoomTo(seen(parent) ? parent : node);
    }
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps: Record<string, Step> = {
      ArrowDown: upsideDown ? "up" : "deeper",
      ArrowUp: upsideDown ? "deeper" : "up",
      ArrowLeft: "left",
      ArrowRight: "right",
    };
    const where = steps[event.key];
    const acts: Record<string, () => void> = {
      Enter: () => zoomTo(selected),
      " ": () => zoomTo(selected),
      Backspace: zoomBack,
      Escape: () => {
        setBack([]);
        onZoom(0);
        reveal(selected);
      },
      Home: () => choose(zoomed),
      "/": () =>
        scroller.current?.closest(".flame-frame")?.previousElementSibling?.querySelector<HTMLElement>("input")?.focus(),
    };
    const act = where ? () => choose(step(arranged, selected, where)) : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  const point = (event: MouseEvent): Pointed | null => {
    const box = canvas.current?.getBoundingClientRect();
    const outer = scroller.current?.getBoundingClientRect();
    if (!box || !outer) return null;
    const y = event.clientY - box.top + scrollTop;
    const row = Math.floor((upsideDown ? height - y : y) / ROW);
    const node = nodeAt(shown.rows[row], event.clientX - box.left);
    return node === null ? null : { node, x: event.clientX - outer.left, y: event.clientY - outer.top };
  };

  const tip = pointed && tipFor(pointed.node, graph, frames, arranged, measure);
  const said = describe(graph, frames, tree, selected, measure);
  const id = useId();
  return (
    <div class="flame-frame">
      <div
        class="flame"
        ref={scroller}
        role="tree"
        tabIndex={0}
        aria-label={`Flame graph: ${graph.label}. Arrow keys go from frame to frame, Enter zooms, Escape shows all.`}
        aria-activedescendant={id}
        style={{ height: `${room}px` }}
        onKeyDown={onKeyDown}
        onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      >
        <div class="flame-space" ref={space} style={{ height: `${height}px` }}>
          <canvas
            ref={canvas}
            aria-hidden="true"
            style={{ height: `${room}px` }}
            onPointerMove={(event) => setPointed(point(event))}
            onPointerLeave={() => setPointed(null)}
            onClick={(event) => {
              const at = point(event);
              if (!at) return;
              const node = at.node < 0 ? -1 - at.node : at.node;
              setSelected(node);
              zoomTo(node);
            }}
          />
        </div>
        <SpokenFrame id={id} arranged={arranged} node={selected} said={said} />
      </div>
      {tip && pointed && <Tip tip={tip} x={pointed.x} y={pointed.y} />}
      <p class="said">
        <strong>{said.title}</strong>: {said.lines.join(", ")}
      </p>
    </div>
  );
}

/** What a screen reader says of the frame in focus: its place in the tree, its name and its weight. */
function SpokenFrame({
  id,
  arranged,
  node,
  said,
}: {
  id: string;
  arranged: Arranged;
  node: number;
  said: Description;
}) {
  const { tree } = arranged;
  const [place, count] = placeAmong(arranged, node);
  const below = childrenOf(tree, node).length;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: focus stays on the tree (aria-activedescendant)
    <div
      id={id}
      class="sr-only"
      role="treeitem"
      aria-selected="true"
      aria-level={(tree.depth[node] ?? 0) + 1}
      aria-posinset={place}
      aria-setsize={count}
      {...(below > 0 ? { "aria-expanded": true } : {})}
    >
      {said.title}, {said.lines.join(", ")}
    </div>
  );
}

function tipFor(
  node: number,
  graph: Flame,
  frames: FlameFrames,
  arranged: Arranged,
  measure: Measure,
): Description | null {
  if (node >= 0) return describe(graph, frames, arranged.tree, node, measure);
  const parent = -1 - node;
  const lines = ["too narrow to be drawn: a click zooms in"];
  return { title: `frames called by ${nameOf(frames, arranged.tree, parent)}`, lines };
}
