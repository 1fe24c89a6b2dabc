import { describe, expect, it } from "vitest";
import {
  axisMoment,
  coreTime,
  duration,
  moment,
  number3,
  percent,
  prefixOf,
  tick,
  ticks,
  withoutMiddle,
} from "../src/ui/format";
import { clamp, pan, zoom } from "../src/ui/span";

describe("figures for people", () => {
  it("have three digits and the unit that fits", () => {
    expect([950, 1250, 1.25e6, 3.2e9, 999.96e6, 60e9].map(duration)).toEqual([
      "950 ns",
      "1.25 µs",
      "1.25 ms",
      "3.20 s",
      "1.00 s",
      "60.0 s",
    ]);
    expect(duration(125.4e9)).toBe("2 min 5.4 s");
    expect(duration(7265e9)).toBe("2 h 1 min");
    expect(duration(0)).toBe("0 ns");
    expect([0, 5, 999, 1000].map(coreTime)).toEqual(["0 ns", "<1 µs", "<1 µs", "1.00 µs"]);
    expect([0, 3, 12.345, 99.96, 1234.5].map(number3)).toEqual(["0", "3.00", "12.3", "100", "1,235"]);
  });

  it("have the prefix of large counts from a thousand on", () => {
    expect([0, 999, 1000, -2e6, 3e9, 4e13].map((count) => prefixOf(count)[1])).toEqual(["", "", "k", "M", "G", "T"]);
    expect(prefixOf(25e6)).toEqual([1e6, "M"]);
  });

  it("are never rounded to a false zero", () => {
    expect([0, 0.0004, 0.0421, 0.0996, 0.37, 1].map(percent)).toEqual(["0%", "<0.1%", "4.2%", "10%", "37%", "100%"]);
  });

  it("lose their trailing zeros on an axis only", () => {
    expect([0, 1, 2.5, 10, 12.5, 100, 1000].map(tick)).toEqual(["0", "1", "2.5", "10", "12.5", "100", "1,000"]);
  });

  it("marks an axis with as many digits as its steps have", () => {
    expect([0, 0.25e9, 0.5e9].map((ns) => axisMoment(ns, 0.25e9))).toEqual(["0.00 s", "0.25 s", "0.50 s"]);
    expect([0, 0.5e9].map((ns) => axisMoment(ns, 0.5e9))).toEqual(["0.0 s", "0.5 s"]);
    expect(axisMoment(2.5e6, 2.5e6)).toBe("0.0025 s");
    expect(axisMoment(25e9, 25e9)).toBe("25 s");
  });

  it("tell neighbouring moments apart", () => {
    expect(moment(1.5e9, 1e8)).toBe("1.5 s");
    expect(moment(1_234_567_890, 1000)).toBe("1.234568 s");
  });
});

describe("names without room", () => {
  it("keep their ends, in which names of threads differ", () => {
    expect(withoutMiddle("http-nio-8080-exec-5", 30)).toBe("http-nio-8080-exec-5");
    expect(withoutMiddle("http-nio-8080-exec-5", 13)).toBe("http-n…exec-5");
    expect(withoutMiddle("http-nio-8080-exec-5", 2)).toBe("h…5");
  });
});

describe("ticks", () => {
  it("are round and inside", () => {
    expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticks(3, 3, 5)).toEqual([3]);
    expect(ticks(0, 4.9, 2)).toEqual([0, 2, 4]);
  });
});

describe("the span in sight", () => {
  it("stays inside the recording", () => {
    expect(clamp({ from: -5e6, to: 5e6 }, 1e9)).toEqual({ from: 0, to: 1e7 });
    expect(pan({ from: 0, to: 1e8 }, 100, 1e9)).toEqual({ from: 9e8, to: 1e9 });
  });

  it("keeps the time under the pointer where it is", () => {
    const span = zoom({ from: 0, to: 1e9 }, 0.5, 2.5e8, 1e9);
    expect(span).toEqual({ from: 1.25e8, to: 6.25e8 });
    expect(zoom(span, 1e9, 2.5e8, 1e9)).toEqual({ from: 0, to: 1e9 });
  });

  it("is never shorter than a microsecond", () => {
    const span = zoom({ from: 0, to: 2000 }, 1e-6, 1000, 1e9);
    expect(span.to - span.from).toBe(1000);
  });
});
