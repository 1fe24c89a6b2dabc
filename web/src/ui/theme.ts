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
  "frame-java",
  "frame-interpreted",
  "frame-inlined",
  "frame-c1",
  "frame-native",
  "frame-jvm",
  "frame-kernel",
  "frame-thread",
  "frame-note",
  "frame-all",
  "frame-smaller",
  "frame-found",
  "frame-more",
  "frame-same",
  "frame-less",
  "hatch",
] as const;
export type Theme = Record<(typeof NAMES)[number], string>;

/** Return the theme's colours as the page's style has them. */
export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Theme;
}

/** The colours in force; renders anew when the reader's preference changes, and for print, which is always light. */
export function useTheme(): Theme {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    const media = ["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query));
    const update = () => setTheme(readTheme());
    for (const each of media) each.addEventListener("change", update);
    return () => {
      for (const each of media) each.removeEventListener("change", update);
    };
  }, []);
  return theme;
}

/** Whether a media query holds; renders anew when that changes. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const update = () => setHolds(media.matches);
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, [query]);
  return holds;
}
