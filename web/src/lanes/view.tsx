// Threads over time: a list with a lane for each, with zoom, keyboard and legend.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Payload } from "../payload/recording";
import { duration, integer } from "../ui/format";
import { Search } from "../ui/search";
import { Missing, Section } from "../ui/section";
import { clamp, isWhole, pan, type Span, spanAfter, zoom } from "../ui/span";
import { useTheme } from "../ui/theme";
import { Tip } from "../ui/tip";
import { type Description, describe, totals } from "./describe";
import { AXIS, draw, ROW } from "./draw";
import { nextState } from "./keys";
import { decode, type SortKey, search, sorted, type Track } from "./model";
import { RestOfThreads } from "./rest";
import { ThreadTable } from "./table";

interface Props {
  payload: Payload;
  span: Span;
  onSpan: (span: Span) => void;
}

const LEAD = "What each thread was doing. The height of a colour is its share of the time: full height is all of it.";

function Hints() {
  return (
    <details class="alternative hints">
      <summary>How to move around</summary>
      <ul>
        <li>
          Pointer: drag over a span to zoom in, double-click to see all again. <kbd>Ctrl</kbd> and the wheel zoom,{" "}
          <kbd>Shift</kbd> and the wheel or a drag move. A click keeps what is under the pointer in the line below the
          lanes.
        </li>
        <li>
          Keyboard, with the list of threads in focus: <kbd>↑</kbd> <kbd>↓</kbd> choose a thread, <kbd>←</kbd>{" "}
          <kbd>→</kbd> step through its states, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>Shift</kbd> with <kbd>←</kbd>{" "}
          <kbd>→</kbd> moves, <kbd>0</kbd> shows all.
        </li>
      </ul>
    </details>
  );
}

/** The view of threads over time. */
export function Lanes(props: Props) {
  const { payload } = props;
  return (
    <Section id="threads" title="Threads" lead={payload.missing.lanes ? undefined : LEAD}>
      {payload.threads.lanes.length > 0 ? (
        <>
          {payload.missing.lanes && <Missing reason={payload.missing.lanes} />}
          <Browser {...props} />
        </>
      ) : (
        <Missing reason={payload.missing.lanes ?? "No thread was recorded."} />
      )}
    </Section>
  );
}

function Browser({ payload, span, onSpan }: Props) {
  const [query, setQuery] = useState("");
  const [sort, setSort] = useState<SortKey>("running");
  const tracks = useMemo(() => payload.threads.lanes.map(decode), [payload]);
  const found = useMemo(() => search(query), [query]);
  const shown = useMemo(() => sorted(tracks, sort).filter((t) => found.matches(t.lane)), [tracks, sort, found]);
  const centre = (span.from + span.to) / 2;
  const count = `${integer(shown.length)} of ${integer(payload.threads.total)} threads`;
  return (
    <>
      <div class="toolbar">
        <Search
          query={query}
          placeholder="name, tid or /regex/"
          isInvalid={found.problem !== null}
          onQuery={setQuery}
        />
        <label>
          <span>Sort by</span>
          <select value={sort} onChange={(event) => setSort(event.currentTarget.value as SortKey)}>
            <option value="running">running time</option>
            <option value="start">start</option>
            <option value="name">name</option>
            <option value="kind">kind</option>
          </select>
        </label>
        <fieldset class="zoom">
          <legend class="sr-only">Zoom</legend>
          <button type="button" aria-label="Zoom in" onClick={() => onSpan(zoom(span, 0.5, centre, payload.wall_ns))}>
            +
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => onSpan(zoom(span, 2, centre, payload.wall_ns))}>
            −
          </button>
          <button
            type="button"
            disabled={isWhole(span, payload.wall_ns)}
            onClick={() => onSpan({ from: 0, to: payload.wall_ns })}
          >
            All
          </button>
        </fieldset>
        <output class="count" aria-live="polite">
          {found.problem ?? `${count}, ${duration(span.to - span.from)} in sight`}
        </output>
      </div>
      {shown.length > 0 ? (
        <LaneList payload={payload} tracks={shown} span={span} onSpan={onSpan} />
      ) : (
        <Missing reason={found.problem ?? `No thread on show matches “${query}”.`} />
      )}
      <StateLegend mode={payload.mode} tracks={tracks} />
      {payload.threads.rest && <RestOfThreads rest={payload.threads.rest} shown={tracks.length} />}
      <Hints />
      <ThreadTable lanes={shown.map((t) => t.lane)} />
    </>
  );
}

function StateLegend({ mode, tracks }: { mode: string; tracks: readonly Track[] }) {
  if (tracks.every((track) => !track.exact && !track.bins)) {
    return (
      <p class="legend">
        <span class="key">
          <span class="swatch" style={{ background: "var(--muted)", height: "6px" }} />
          alive
        </span>
      </p>
    );
  }
  const woken = mode === "perf-switch"; // which sees no wake-ups: see HW100
  const names = {
    running: "running",
    runnable: woken ? "runnable: preempted, waits for a CPU" : "runnable: waits for a CPU",
    other: "uninterruptible or stopped",
    sleeping: woken ? "sleeping, or woken and not yet on a CPU" : "sleeping",
  };
  return (
    <p class="legend">
      {(["running", "runnable", "other", "sleeping"] as const).map((state) => (
        <span class="key" key={state}>
          <span class={`swatch ${state}`} style={{ background: `var(--${state})` }} />
          {names[state]}
        </span>
      ))}
    </p>
  );
}

interface Pointed {
  row: number;
  t: number;
  /** Pixels within the lanes, for the tip. */
  x: number;
  y: number;
}

interface ListProps extends Props {
  tracks: Track[];
}

function LaneList({ payload, tracks, span, onSpan }: ListProps) {
  const theme = useTheme();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [chosen, setChosen] = useState(tracks[0]?.lane.id ?? -1);
  const [cursor_ns, setCursor] = useState<number | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [band, setBand] = useState<Span | null>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [size, setSize] = useState("");
  const selected = Math.max(
    0,
    tracks.findIndex((t) => t.lane.id === chosen),
  );
  const { wall_ns } = payload;
  const areSeveral = new Set(payload.threads.lanes.map((lane) => lane.pid)).size > 1;

  useLayoutEffect(() => {
    if (!canvas.current) return;
    draw(
      canvas.current,
      { tracks, span, wall_ns, phases: payload.phases.items, scrollTop, selected, cursor_ns, band },
      theme,
    );
  }, [tracks, span, wall_ns, payload, scrollTop, selected, cursor_ns, band, theme, size]);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize(`${element.clientWidth}x${element.clientHeight}`));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useWheel(canvas, span, wall_ns, onSpan);
  const drag = useDrag(canvas, span, wall_ns, onSpan, setBand);

  const point = (event: PointerEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    const outer = scroller.current?.getBoundingClientRect();
    if (!box || !outer) return;
    const row = Math.floor((event.clientY - box.top - AXIS + scrollTop) / ROW);
    const t = span.from + ((event.clientX - box.left) / box.width) * (span.to - span.from);
    const inside = event.clientY - box.top >= AXIS && row < tracks.length;
    setPointed(inside ? { row, t, x: event.clientX - outer.left, y: event.clientY - outer.top } : null);
  };

  const reveal = (row: number) => {
    const element = scroller.current;
    if (!element) return;
    const room = element.clientHeight - AXIS;
    if (row * ROW < element.scrollTop) element.scrollTop = row * ROW;
    else if ((row + 1) * ROW > element.scrollTop + room) element.scrollTop = (row + 1) * ROW - room;
  };

  const choose = (row: number) => {
    const to = Math.min(tracks.length - 1, Math.max(0, row));
    setChosen(tracks[to]?.lane.id ?? -1);
    reveal(to);
  };

  const step = (by: 1 | -1) => {
    const track = tracks[selected];
    if (!track) return;
    const t = nextState(track, cursor_ns ?? (by === 1 ? -1 : wall_ns), by, wall_ns);
    setCursor(t);
    const length = span.to - span.from;
    if (t < span.from || t > span.to) onSpan(clamp({ from: t - length / 2, to: t + length / 2 }, wall_ns));
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const next = spanAfter(event, span, wall_ns, cursor_ns);
    const moves: Record<string, () => void> = {
      ArrowDown: () => choose(selected + 1),
      ArrowUp: () => choose(selected - 1),
      PageDown: () => choose(selected + 10),
      PageUp: () => choose(selected - 10),
      Home: () => choose(0),
      End: () => choose(tracks.length - 1),
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      Escape: () => setCursor(null),
    };
    const move = next ? () => onSpan(next) : moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  };

  const current = tracks[selected];
  const said = current && cursor_ns !== null ? describe(current, cursor_ns, wall_ns) : null;
  const tip = pointed && !band ? tipAt(tracks, pointed, wall_ns) : null;
  return (
    <div class="lanes-frame">
      <div
        class={areSeveral ? "lanes several" : "lanes"}
        ref={scroller}
        onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      >
        <div
          class="names"
          role="listbox"
          aria-label="Threads"
          tabIndex={0}
          aria-activedescendant={current ? `lane-${current.lane.id}` : undefined}
          onKeyDown={onKeyDown}
        >
          {tracks.map((track, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list box takes the keys for its options
            // biome-ignore lint/a11y/useFocusableInteractive: focus stays on the list box (aria-activedescendant)
            <div
              key={track.lane.id}
              id={`lane-${track.lane.id}`}
              class="name"
              role="option"
              aria-selected={i === selected}
              onClick={() => choose(i)}
              title={`${track.lane.name}\nprocess ${track.lane.pid}, tid ${track.lane.tid}\n${totals(track)}`}
            >
              <span class="swatch" style={{ background: `var(--${track.lane.kind}, var(--app))` }} />
              <LaneName name={track.lane.name} />
              {areSeveral && <span class="pid">{track.lane.pid}</span>}
              <span class="sr-only">
                , {track.lane.kind}, {totals(track)}
              </span>
              <span class="time" aria-hidden="true">
                {track.lane.running_ns === null ? "" : duration(track.lane.running_ns)}
              </span>
            </div>
          ))}
        </div>
        <canvas
          ref={canvas}
          aria-hidden="true"
          onPointerMove={(event) => {
            point(event);
            drag.move(event);
          }}
          onPointerDown={drag.start}
          onPointerUp={(event) => {
            if (!drag.end(event) && pointed) {
              setChosen(tracks[pointed.row]?.lane.id ?? chosen);
              setCursor(pointed.t);
            }
          }}
          onPointerLeave={() => setPointed(null)}
          onDblClick={() => onSpan({ from: 0, to: wall_ns })}
        />
      </div>
      {tip && pointed && <Tip tip={tip} x={pointed.x} y={pointed.y} />}
      <p class="said" aria-live="polite">
        {said ? (
          <>
            <strong>{said.title}</strong>: {said.lines.join(", ")}
          </>
        ) : (
          "Choose a thread and a time to see what it was doing."
        )}
      </p>
    </div>
  );
}

const [END, LONG] = [5, 8];

/** A thread's name, which loses its middle where it has no room: names of threads differ at their ends. */
function LaneName({ name }: { name: string }) {
  const letters = [...name];
  if (letters.length <= LONG) return <span class="text">{name}</span>;
  return (
    <span class="text">
      <span class="begin">{letters.slice(0, -END).join("")}</span>
      <span class="end">{letters.slice(-END).join("")}</span>
    </span>
  );
}

function tipAt(tracks: Track[], pointed: Pointed, wall_ns: number): Description | null {
  const track = tracks[pointed.row];
  return track ? describe(track, pointed.t, wall_ns) : null;
}

/** Ctrl and wheel (and a pinch, which browsers report alike) zoom; Shift and wheel, or sideways, move; else the page scrolls. */
function useWheel(
  canvas: preact.RefObject<HTMLCanvasElement | null>,
  span: Span,
  wall_ns: number,
  onSpan: (span: Span) => void,
): void {
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const onWheel = (event: WheelEvent) => {
      const box = element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const at = span.from + ((event.clientX - box.left) / box.width) * (span.to - span.from);
        onSpan(zoom(span, Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 150), at, wall_ns));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        onSpan(pan(span, (event.deltaX || event.deltaY) / box.width, wall_ns));
      }
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [canvas, span, wall_ns, onSpan]);
}

interface Drag {
  start: (event: PointerEvent) => void;
  move: (event: PointerEvent) => void;
  /** True when it was a drag, not a click. */
  end: (event: PointerEvent) => boolean;
}

function useDrag(
  canvas: preact.RefObject<HTMLCanvasElement | null>,
  span: Span,
  wall_ns: number,
  onSpan: (span: Span) => void,
  onBand: (band: Span | null) => void,
): Drag {
  const begun = useRef<{ x: number; span: Span; moves: boolean } | null>(null);
  const between = useCallback(
    (a: number, b: number): Span => {
      const box = canvas.current?.getBoundingClientRect();
      const at = (x: number) => span.from + ((x - (box?.left ?? 0)) / (box?.width ?? 1)) * (span.to - span.from);
      return { from: at(Math.min(a, b)), to: at(Math.max(a, b)) };
    },
    [canvas, span],
  );
  return {
    start: (event) => {
      if (event.button > 1) return;
      canvas.current?.setPointerCapture(event.pointerId);
      begun.current = { x: event.clientX, span, moves: event.shiftKey || event.button === 1 };
    },
    move: (event) => {
      const drag = begun.current;
      if (!drag) return;
      const by = event.clientX - drag.x;
      if (drag.moves) onSpan(pan(drag.span, -by / (canvas.current?.clientWidth ?? 1), wall_ns));
      else if (Math.abs(by) >= 4) onBand(between(drag.x, event.clientX));
    },
    end: (event) => {
      const drag = begun.current;
      begun.current = null;
      onBand(null);
      if (!drag || Math.abs(event.clientX - drag.x) < 4) return false;
      if (!drag.moves) onSpan(clamp(between(drag.x, event.clientX), wall_ns));
      return true;
    },
  };
}
