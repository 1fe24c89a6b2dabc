// Figures for people. Whatever is rounded here carries its exact value in a <data> element (figure.tsx).

const UNITS: readonly [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Three significant digits, without an exponent: 1234 -> "1,234", 12.345 -> "12.3", 3 -> "3.00". */
export function number3(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 99.95 || value === 0) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(magnitude >= 9.995 ? 1 : 2);
}

/** The same for the marks of an axis, which are round numbers: no zeros at the end. */
export function tick(value: number): string {
  return number3(value).replace(/\.0+$|(\.\d*?)0+$/, "$1");
}

/** A length of time given in ns: "12.3 s", "4.56 ms", "2 min 3.4 s". */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size >= 3600e9) {
    const minutes = Math.round(ns / 60e9);
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
  if (size >= 119.95e9) {
    const tenths = Math.round(ns / 1e8);
    return `${Math.floor(tenths / 600)} min ${((tenths % 600) / 10).toFixed(1)} s`;
  }
  const [scale, unit] = UNITS.find(([s]) => size >= s * 0.9995) ?? [1, "ns"];
  return unit === "ns" ? `${Math.round(ns)} ns` : `${number3(ns / scale)} ${unit}`;
}

/** Lost core time: less than a microsecond is less than the clocks of cores and locks can tell. */
export const coreTime = (ns: number) => (ns > 0 && ns < 1000 ? "<1 µs" : duration(ns));

/** A point in time, ns from the start, with as many digits as `resolution_ns` asks for. */
export function moment(ns: number, resolution_ns: number): string {
  const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(1, resolution_ns)))));
  return `${(ns / 1e9).toFixed(digits)} s`;
}

/** A mark of a time axis: as many digits as tell its marks apart, which may be 2.5 times a power of ten from each other. */
export function axisMoment(ns: number, step_ns: number): string {
  const step = Math.max(1, step_ns);
  const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(step))));
  const is_exact = Math.abs(Number((step / 1e9).toFixed(digits)) * 1e9 - step) < step / 1000;
  return `${(ns / 1e9).toFixed(is_exact ? digits : digits + 1)} s`;
}

const PREFIXES: readonly [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** The prefix that a large count is written with, and how much it stands for: [1e6, "M"]; [1, ""] below a thousand. */
export function prefixOf(count: number): readonly [number, string] {
  return PREFIXES.find(([least]) => Math.abs(count) >= least) ?? [1, ""];
}

/** A count with three digits: "12.3 M"; small ones are whole. */
export function compact(value: number): string {
  const [scale, prefix] = prefixOf(Math.abs(value) < 1e4 ? 0 : value);
  if (prefix === "") return Number.isInteger(value) ? integer(value) : number3(value);
  return `${number3(value / scale)} ${prefix}`;
}

/** A share 0..1, as the commands write it: "4.2%", "37%", and "<0.1%" rather than a false zero. */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.1) return "<0.1%";
  return value >= 9.95 || value === 0 ? `${Math.round(value)}%` : `${value.toFixed(1)}%`;
}

/** Format a whole number with separators. */
export function integer(value: number): string {
  return value.toLocaleString("en-US");
}

const STEPS = [10, 5, 2, 1, 0.5, 0.2, 0.1];

/** About `count` round steps covering [low, high], 1, 2 or 5 times a power of ten apart; two marks at least. */
export function ticks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  let marks: number[] = [];
  for (const factor of STEPS) {
    const step = factor * power;
    if (marks.length >= 2 && step < raw * 0.999) break;
    const first = Math.ceil(low / step - 1e-9);
    const last = Math.floor(high / step + 1e-9);
    marks = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
  }
  return marks;
}

/** A name that has room for so many letters, without its middle where it is longer: names of threads differ at their ends. */
export function withoutMiddle(name: string, letters: number): string {
  if (name.length <= letters) return name;
  const end = Math.max(1, Math.floor((letters - 1) / 2));
  return `${name.slice(0, Math.max(1, letters - 1 - end))}…${name.slice(-end)}`;
}
