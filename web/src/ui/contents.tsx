// A page's table of contents: one link for each of its parts, as they are headed.
import { useEffect, useState } from "preact/hooks";

interface Entry {
  id: string;
  title: string;
}

const LEAST_PARTS = 3;

/** Reads the headings of the page's parts, in their order: so no part can be missing, or be called something else here. */
export function partsOf(root: ParentNode): Entry[] {
  return [...root.querySelectorAll<HTMLElement>("main section.part[id]")].map((part) => ({
    id: part.id,
    title: part.querySelector("h2")?.textContent ?? part.id,
  }));
}

/** The table of contents; nothing on a page of one or two parts. */
export function Contents() {
  const [entries, setEntries] = useState<Entry[]>([]);
  useEffect(() => setEntries(partsOf(document)), []);
  if (entries.length < LEAST_PARTS) return null;
  return (
    <nav class="contents" aria-label="Contents">
      <ol>
        {entries.map(({ id, title }) => (
          <li key={id}>
            <a href={`#${id}`}>{title}</a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
