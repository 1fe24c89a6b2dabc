// Colours for canvases, read from the style sheet so that dark and light are decided in one place.
import { useEffect, useState } from "preact/hooks";

const NAMES = [
  "text",
  "muted",
  "line",
  "grid",
  "surface",
  "focus",
  "app",
  "gc",
  "jit",
  "vm",
  "running",
  "runnable",
  "sleeping",
  "other",
  "pause",
  "selected",
] as const;
export type Theme = Record<(typeof NAMES)[number], string>;

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Theme;
}

/** The colours in force; renders anew when the reader's preference changes. */
export function useTheme(): Theme {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const update = () => setTheme(readTheme());
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, []);
  return theme;
}
