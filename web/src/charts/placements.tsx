// On which memory nodes a program was over time, as `headway place` put it: a strip, and each decision with what came of it.
import type { PlacedSpell, PlacementsView } from "../payload/placements";
import { Duration, Rounded } from "../ui/figure";
import { integer, moment } from "../ui/format";
import { Head } from "../ui/head";
import { Section } from "../ui/section";
import type { Span } from "../ui/span";

const LEAD =
  "Where the program was placed meanwhile. A speed is that of a time on one placement relative to the time before; – is not known.";
const COLUMNS = ["from", "for", "placement", "why", "threads moved", "speed", "memory moved"];
const MIB = 1 << 20;
/** Times are shown to a tenth of a second: a decision takes longer. */
const SHOWN_NS = 1e8;

interface Props {
  view: PlacementsView;
  span: Span;
}

/** Where a program was placed over time, and each decision. */
export function Placements({ view, span }: Props) {
  const moves = view.spells.length + view.left_out - 1;
  return (
    <Section id="placements" title="Placements" lead={LEAD}>
      <p>
        {integer(moves)} {moves === 1 ? "move" : "moves"} between node {view.home} and all {integer(view.nodes)} nodes,
        judged by {view.progress}.{" "}
        {view.ended ? `Ended: ${view.ended}.` : "The records stop before the end of placing."}
      </p>
      <Strip view={view} span={span} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroll" tabIndex={0} aria-label="Table of placements">
        <table id="placement-table">
          <Head names={COLUMNS} />
          <tbody>
            {view.spells.map((spell) => (
              <Row key={spell.start_ns} spell={spell} home={view.home} />
            ))}
          </tbody>
        </table>
      </section>
      {view.left_out > 0 && <p>{integer(view.left_out)} later ones are in the records.</p>}
      {view.notes.map((note) => (
        <p key={note.at_ns}>
          At {moment(note.at_ns, SHOWN_NS)}: {note.text}.
        </p>
      ))}
      {view.notes_left_out > 0 && (
        <p>
          {integer(view.notes_left_out)} later {view.notes_left_out === 1 ? "note is" : "notes are"} in the records.
        </p>
      )}
    </Section>
  );
}

/** Full height is all nodes, half of it one node, so that no colour has to tell. */
function Strip({ view, span }: Props) {
  const part = (ns: number) => (100 * (ns - span.from)) / (span.to - span.from);
  const shown = view.spells.filter((spell) => spell.end_ns > span.from && spell.start_ns < span.to);
  return (
    <>
      <div class="placements" role="img" aria-label={`Placements over time: ${integer(shown.length)} in sight`}>
        {shown.map((spell) => {
          const left = Math.max(0, part(spell.start_ns));
          const style = { left: `${left}%`, width: `${Math.min(100, part(spell.end_ns)) - left}%` };
          return <div key={spell.start_ns} class={spell.placement} style={style} />;
        })}
      </div>
      <p class="legend">
        <span class="key">
          <span class="swatch" style={{ background: "var(--app)" }} />
          all nodes (full height)
        </span>
        <span class="key">
          <span class="swatch" style={{ background: "var(--running)" }} />
          node {view.home} (half)
        </span>
      </p>
    </>
  );
}

function Row({ spell, home }: { spell: PlacedSpell; home: number }) {
  return (
    <tr>
      <td>
        <data value={spell.start_ns}>{moment(spell.start_ns, SHOWN_NS)}</data>
      </td>
      <td>
        <Duration value={spell.end_ns - spell.start_ns} />
      </td>
      <td class="text">{spell.placement === "one" ? `node ${home}` : "all nodes"}</td>
      <td class="text">{spell.why}</td>
      <td>{integer(spell.threads_moved)}</td>
      <td>{spell.speed === null ? "–" : <Rounded value={spell.speed} />}</td>
      <td>{spell.memory_moved_bytes === 0 ? "–" : `${integer(Math.round(spell.memory_moved_bytes / MIB))} MiB`}</td>
    </tr>
  );
}
