// A flame graph, or several to choose from. All figures come from the packed trees; nothing is asked of a server.
import { useMemo, useState } from "preact/hooks";
import type { Flame, FlameFrames, FlameSet } from "../payload/flame";
import { integer, percent } from "../ui/format";
import { Search } from "../ui/search";
import { Missing } from "../ui/section";
import { Graph } from "./canvas";
import { amount, KIND_NAMES } from "./describe";
import { kindsIn } from "./draw";
import { type Arranged, arrange, decode, type Measure } from "./model";
import { findFrames, type Matched, matched } from "./search";
import { FrameTable } from "./table";

function Hints() {
  return (
    <details class="alternative hints">
      <summary>How to move around</summary>
      <ul>
        <li>
          Pointer: a click on a frame gives it the whole width, one on a frame above it goes back. Resting on a frame
          shows its exact weight.
        </li>
        <li>
          Keyboard, with the graph in focus: the arrows go from frame to frame, <kbd>Enter</kbd> gives the frame the
          whole width, <kbd>Backspace</kbd> goes one step back, <kbd>Escape</kbd> shows all, <kbd>Home</kbd> goes to the
          first frame, <kbd>/</kbd> to the search.
        </li>
        <li>
          A thin line stands for frames that are too narrow to be drawn. Zooming in shows them. “(N smaller)” stands for
          frames that are not in this file; its weight is exact.
        </li>
      </ul>
    </details>
  );
}

interface FlamesProps {
  set: FlameSet;
  name: string;
  /** What another view leads to: it is searched for. */
  wanted?: string | null;
}

/** Graphs of several events, one on show. */
export function Flames({ set, name, wanted = null }: FlamesProps) {
  const [chosen, setChosen] = useState(0);
  const at = Math.min(chosen, set.graphs.length - 1);
  const graph = set.graphs[at];
  if (!graph) return <Missing reason="No stack was sampled." />;
  return (
    <>
      {set.graphs.length > 6 && (
        <div class="toolbar flame-choice">
          <label>
            <span>Show</span>
            <select value={String(at)} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
              {set.graphs.map((each, i) => (
                <option key={each.label} value={String(i)}>
                  {each.label}
                </option>
              ))}
            </select>
          </label>
        </div>
      )}
      {set.graphs.length > 1 && set.graphs.length <= 6 && (
        <fieldset class="choice flame-choice">
          <legend class="sr-only">Which flame graph</legend>
          {set.graphs.map((each, i) => (
            <label key={each.label}>
              <input type="radio" name={name} checked={i === at} onChange={() => setChosen(i)} />
              {each.label}
            </label>
          ))}
        </fieldset>
      )}
      <FlameView key={`${at} ${wanted}`} graph={graph} frames={set.frames} wanted={wanted} />
    </>
  );
}

function FlameView({ graph, frames, wanted }: { graph: Flame; frames: FlameFrames; wanted: string | null }) {
  const [threads, setThreads] = useState(false);
  const [flame, setFlame] = useState(false);
  const [byChange, setByChange] = useState(graph.versus !== null);
  const [measure, setMeasure] = useState<Measure>("this");
  const [query, setQuery] = useState(wanted ?? "");
  const [zoomed, setZoomed] = useState(0);
  const packed = threads && graph.by_thread ? graph.by_thread : graph.merged;
  const tree = useMemo(() => decode(packed), [packed]);
  // A new object for each measure: the order of children is kept in the tree.
  const arranged = useMemo(() => arrange(tree, measure), [tree, measure]);
  const found = useMemo(() => findFrames(frames, query), [frames, query]);
  const hits = useMemo(
    () => found && matched(tree, arranged.weight, found, zoomed < tree.size ? zoomed : 0),
    [tree, arranged, found, zoomed],
  );
  const whole = arranged.weight[0] ?? 0;
  if (!(whole > 0) && !graph.versus)
    return (
      <>
        <Missing reason={`No ${graph.event} in the threads and the time that were asked for.`} />
        <Notes notes={graph.notes} />
      </>
    );
  return (
    <>
      <div class="toolbar">
        <Search query={query} placeholder="method or /regex/" isInvalid={found?.problem != null} onQuery={setQuery} />
        <Choice label="Layout" value={flame ? "flame" : "icicle"} onChange={(value) => setFlame(value === "flame")}>
          {{ icicle: "icicle: callers on top", flame: "flame: callers below" }}
        </Choice>
        {graph.by_thread && (
          <Choice
            label="Threads"
            value={threads ? "by" : "merged"}
            onChange={(value) => {
              setZoomed(0);
              setThreads(value === "by");
            }}
          >
            {{ merged: "merged", by: "by thread" }}
          </Choice>
        )}
        {graph.versus && (
          <>
            <Choice
              label="Colour"
              value={byChange ? "change" : "kind"}
              onChange={(value) => setByChange(value === "change")}
            >
              {{ change: "change of the share", kind: "kind of frame" }}
            </Choice>
            <Choice label="Widths" value={measure} onChange={(value) => setMeasure(value as Measure)}>
              {{ this: "this profile", other: graph.versus.name }}
            </Choice>
          </>
        )}
        <output class="count" aria-live="polite">
          {found?.problem ?? (hits ? hitsText(hits, arranged, graph, zoomed) : `${amount(whole, graph.unit)} in all`)}
        </output>
      </div>
      <Graph
        key={threads ? "threads" : "merged"}
        graph={graph}
        frames={frames}
        arranged={arranged}
        measure={measure}
        upsideDown={flame}
        byChange={byChange}
        found={found?.problem ? null : found}
        zoomed={zoomed}
        onZoom={setZoomed}
      />
      <Legend frames={frames} arranged={arranged} graph={graph} byChange={byChange} isSearching={found !== null} />
      <Notes notes={graph.notes} />
      <Hints />
      <FrameTable
        graph={graph}
        frames={frames}
        arranged={arranged}
        own={(measure === "other" && tree.otherSelf) || tree.self}
      />
    </>
  );
}

function hitsText(hits: Matched, { weight }: Arranged, graph: Flame, zoomed: number): string {
  const whole = weight[zoomed] ?? 0;
  const frames = hits.nodes === 1 ? "1 place matches" : `${integer(hits.nodes)} places match`;
  const of = zoomed === 0 ? "of all" : "of what is zoomed";
  return `${frames}: ${percent(whole > 0 ? hits.weight / whole : 0)} ${of}, ${amount(hits.weight, graph.unit)}`;
}

interface ChoiceProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: Record<string, string>;
}

function Choice({ label, value, onChange, children }: ChoiceProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {Object.entries(children).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface LegendProps {
  frames: FlameFrames;
  arranged: Arranged;
  graph: Flame;
  byChange: boolean;
  isSearching: boolean;
}

function Legend({ frames, arranged, graph, byChange, isSearching }: LegendProps) {
  const kinds = useMemo(() => kindsIn(frames, arranged), [frames, arranged]);
  const keys: [string, string][] = isSearching
    ? [
        ["found", "matches the search"],
        ["all", "does not"],
      ]
    : byChange
      ? [
          ["more", `a larger share than in ${graph.versus?.name ?? "the other"}`],
          ["same", "the same"],
          ["less", "a smaller share"],
        ]
      : kinds.map((kind) => [kind, KIND_NAMES[kind]]);
  return (
    <p class="legend">
      {keys.map(([colour, text]) => (
        <span class="key" key={colour}>
          <span class="swatch" style={{ background: `var(--frame-${colour})` }} />
          {text}
        </span>
      ))}
    </p>
  );
}

function Notes({ notes }: { notes: string[] }) {
  return (
    <>
      {notes.map((note) => (
        <p class="rest" key={note}>
          {note}
        </p>
      ))}
    </>
  );
}
