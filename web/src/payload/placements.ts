// When a program was on one memory node and when on all (report/html/placements.py).
// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.

/** A time on one placement. */
export interface PlacedSpell {
  placement: "one" | "all";
  start_ns: number;
  end_ns: number;
  why: string;
  threads_moved: number;
  /** Relative to the spell before; null where not known. */
  speed: number | null;
  memory_moved_bytes: number;
}

/** Something that was found meanwhile. */
export interface PlacementNote {
  at_ns: number;
  text: string;
}

/** The placements of the recorded program, in order of time. */
export interface PlacementsView {
  /** The number of the one node. */
  home: number;
  nodes: number;
  progress: string;
  /** Why placing ended; null where its records just stop. */
  ended: string | null;
  spells: PlacedSpell[];
  notes: PlacementNote[];
  left_out: number;
  notes_left_out: number;
}
