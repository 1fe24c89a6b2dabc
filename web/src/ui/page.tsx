// What every page has: a skip link, the head with what it is about and the table of contents, and the foot.
import type { ComponentChildren } from "preact";
import { Contents } from "./contents";

interface Props {
  title: string;
  made: { headway: string; recorded_utc: string; recording: string };
  /** Where the skip link leads: an id, and the words after "Skip to". */
  skip: [string, string];
  /** Facts in the line below the title; the time of the recording follows them. */
  about?: ComponentChildren;
  /** Lines below that. */
  more?: ComponentChildren;
  children: ComponentChildren;
}

/** "2026-01-02T03:04:05.678+00:00" as "2026-01-02 03:04 UTC"; anything else as it is. */
export function recordedAt(utc: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:[\d.]+)?(Z|\+00:00)$/.exec(utc);
  return parts ? `${parts[1]} ${parts[2]} UTC` : utc;
}

/** "1 core", "2.5 cores"; "<0.01 cores" rather than a false zero. */
export function coresText(cores: number): string {
  if (cores === 1) return "1 core";
  if (cores > 0 && cores < 0.005) return "<0.01 cores";
  return `${cores.toLocaleString("en-US", { maximumFractionDigits: 2 })} cores`;
}

/** The frame of every page: title, contents, sections, and who made it. */
export function Page({ title, made, skip, about, more, children }: Props) {
  return (
    <>
      <a class="skip" href={`#${skip[0]}`}>
        Skip to {skip[1]}
      </a>
      <header>
        <p class="brand">headway</p>
        <h1>{title}</h1>
        <p class="about">
          {about}
          {made.recorded_utc && <span>{recordedAt(made.recorded_utc)}</span>}
        </p>
        {more}
        <Contents />
      </header>
      <main>{children}</main>
      <footer>
        <p>
          Made by headway {made.headway} from {made.recording}. This file makes no requests; all it shows is in it.
        </p>
      </footer>
    </>
  );
}
