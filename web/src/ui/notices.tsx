// The messages that mark a page's figures: warnings in full, notes folded.

import type { Notice } from "../payload/common";
import { Section } from "./section";

const NONE = "None: no record was lost, and every check of the recording held.";
const NONE_BUT_NOTES = "None that changes what to believe of the figures.";

/** Warnings in full; notes, which change nothing of what to believe, folded into one line, as on the terminal. */
export function Notices({ notices, none = NONE }: { notices: Notice[]; none?: string }) {
  const isNote = ({ level }: Notice) => level === "note" || level === "once";
  const [warnings, notes] = [notices.filter((each) => !isNote(each)), notices.filter(isNote)];
  return (
    <Section id="warnings" title={warnings.length === 0 ? "Warnings" : counted(warnings.length, "warning")}>
      {warnings.length === 0 && <p class="missing">{notes.length === 0 ? none : NONE_BUT_NOTES}</p>}
      {warnings.length > 0 && <List notices={warnings} />}
      {notes.length > 0 && (
        <details class="notes">
          <summary>
            {counted(notes.length, "note")}: {[...new Set(notes.map(({ id }) => id))].join(", ")}
          </summary>
          <List notices={notes} />
        </details>
      )}
    </Section>
  );
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function List({ notices }: { notices: Notice[] }) {
  return (
    <ul class="notices">
      {notices.map((notice) => (
        <li key={notice.id + notice.message}>
          <p>
            <span class="notice-id">{notice.id}</span> {notice.message}
          </p>
          {notice.remedy && (
            <p class="remedy">
              <span class="sr-only">Remedy: </span>
              <code>{notice.remedy}</code>
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
