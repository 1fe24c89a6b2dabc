import { describe, expect, it } from "vitest";
import { worthABar } from "../src/causal/compare";
import { radius, rangeOf, scales } from "../src/causal/curve";
import { after } from "../src/causal/multiples";
import { type Row, rowsOf } from "../src/causal/rows";
import { gain, needs, outcome, plain, signed } from "../src/causal/words";
import type { CausalPage, Curve } from "../src/payload/causal";

const curve = (values: Partial<Curve>): Curve => ({
  ...{ shape: "gain", significant: true, slope: 0.4, slope_low: null, slope_high: null },
  ...{ slope_most: null, is_beyond_delays: false },
  ...{ maximum_pct: 40, maximum_low_pct: 30, maximum_high_pct: 50, maximum_at_pct: 100 },
  ...{ flat_from_pct: null, needs_s: null, points: [[50, 20, 10, 30, 9, 4, 0]], ...values },
});
const page = (...curves: (Curve | null)[]) =>
  ({
    lines: curves.map((each, i) => ({ name: `A.java:${i}`, samples_pct: i, curves: [each] })),
  }) as unknown as CausalPage;
const only = (each: Curve | null): Row => rowsOf(page(each), 0)[0] as Row;

describe("what is said of a line", () => {
  it("a slope beyond what delays allow is no finding, and said to be so", () => {
    const beyond = curve({ shape: "unknown", slope_most: 0.02, is_beyond_delays: true, needs_s: 90 });
    expect(outcome(only(beyond))).toBe("more than its delays allow (+2.0% at most); needs 2 more minutes");
    expect(outcome(only({ ...beyond, is_beyond_delays: false }))).toBe("needs 2 more minutes");
  });
  it("names the most it gives, where, and from where it is flat", () => {
    expect(outcome(only(curve({})))).toBe("+40.0% at 100%");
    expect(outcome(only(curve({ flat_from_pct: 40, maximum_at_pct: 40 })))).toBe("+40.0% at 40%, flat from 40%");
    expect(outcome(only(curve({ shape: "slower", maximum_pct: -7.25 })))).toBe("−7.3% at 100%");
  });
  it("is no finding where too little is known", () => {
    const weak = only(curve({ shape: "unknown", significant: false, needs_s: 61 }));
    expect([outcome(weak), gain(weak)]).toEqual(["needs 2 more minutes", null]);
    expect([outcome(only(null)), gain(only(null))]).toEqual(["no experiment", null]);
    expect([outcome(only(curve({ shape: "none" }))), gain(only(curve({ shape: "none" })))]).toEqual(["no effect", 0]);
  });
  it("has signs, and minutes that are whole", () => {
    expect([signed(0.04), signed(-0.04), signed(-3.25), signed(250)]).toEqual(["0%", "0%", "−3.3%", "+250%"]);
    expect([plain(0), plain(0.25), plain(9.96), plain(60)]).toEqual(["0%", "0.3%", "10%", "60%"]);
    expect([needs(59), needs(60), needs(61), needs(90_000)]).toEqual([
      "needs less than 1 more minute",
      "needs 1 more minute",
      "needs 2 more minutes",
      "needs 1,500 more minutes",
    ]);
  });
});

describe("the scale of all curves", () => {
  it("holds every point and interval of what is known, and 0", () => {
    const range = rangeOf([only(curve({})), only(curve({ points: [[50, -20, -30, -10, 1, 1, 0]] }))]);
    expect(range.low).toBeLessThan(-30);
    expect(range.high).toBeGreaterThan(30);
    const { x, y } = scales({ width: 120, height: 70, left: 10, right: 10, top: 5, bottom: 5 }, { low: -20, high: 40 });
    expect([x(0), x(50), x(100), y(40), y(0), y(-20)]).toEqual([10, 60, 110, 5, 45, 65]);
  });
  it("is not blown up by intervals of lines that nothing is known of", () => {
    const wide = only(curve({ shape: "unknown", points: [[50, 3, -900, 900, 1, 1, 0]] }));
    expect(rangeOf([only(curve({})), wide]).high).toBeLessThan(40);
    expect(rangeOf([wide]).high).toBeLessThan(10);
  });
  it("draws dots whose area is the number of experiments, within bounds", () => {
    expect(radius(16) ** 2 / radius(4) ** 2).toBeCloseTo(4);
    expect([radius(1), radius(1000)]).toEqual([2, 7]);
  });
});

describe("bars", () => {
  it("show the first lines, and the hottest wherever they rank", () => {
    const rows = rowsOf(page(...Array.from({ length: 40 }, () => curve({}))), 0);
    expect(worthABar(rows)).toEqual([...Array(12).keys(), ...Array.from({ length: 12 }, (_, i) => 28 + i)]);
  });
});

describe("keys among the small curves", () => {
  it("move, and stop at both ends", () => {
    expect([after("ArrowRight", 0, 3), after("ArrowDown", 2, 3), after("ArrowLeft", 0, 3)]).toEqual([1, 2, 0]);
    expect([after("Home", 2, 3), after("End", 0, 3), after("x", 1, 3)]).toEqual([0, 2, null]);
  });
});
