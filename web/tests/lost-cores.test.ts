import { describe, expect, it } from "vitest";
import { neckFirst } from "../src/lost_cores/bottle";
import { foldedText, isWorthALine, threadText } from "../src/lost_cores/losses";
import { phaseText } from "../src/lost_cores/over_time";
import { binsOf, coresIn, partsOf, within } from "../src/lost_cores/parts";
import type { Account, Bottle, Loss, WhyView } from "../src/payload/lost_cores";

const account = {
  ...{ start_ns: 100, end_ns: 350, cores: 2, core_ns: 500, used_ns: 260, stolen_ns: 30, lost_ns: 210 },
  parts: [
    ["used_app", "application", 200],
    ["used_not_told_apart", "the program", 60],
    ["stolen", "stolen by the host", 30],
    ["io", "I/O", 150],
    ["lock_contention", "lock contention", 60],
  ],
} as unknown as Account;
const view = { account, bin_ns: 100, bins: { io: [1, 2, 3], stolen: [5, 0] } } as unknown as WhyView;

describe("the parts of an account", () => {
  it("are told apart: used, stolen, or lost to a cause", () => {
    const parts = partsOf(account);
    expect(parts.reduce((sum, { ns }) => sum + ns, 0)).toBe(500);
    expect(parts.filter(({ isLost }) => isLost).map(({ title }) => title)).toEqual(["I/O", "lock contention"]);
    expect(parts[1]).toEqual({ key: "used_not_told_apart", title: "the program", ns: 60, isLost: false });
  });
});

describe("bins", () => {
  it("begin with the account, and the last one ends with it", () => {
    expect(binsOf(view)).toEqual({ start_ns: [100, 200, 300], dur_ns: [100, 100, 50] });
  });

  it("hold means: core time by their own length", () => {
    expect(coresIn([100, 50, 100], [100, 100, 50])).toEqual([1, 0.5, 2]);
    expect(coresIn(undefined, [100, 0])).toEqual([0, 0]);
  });
});

describe("a phase", () => {
  it("lies where it is in what is in sight, and is cut at its edges", () => {
    expect(within(25, 75, { from: 0, to: 100 })).toEqual({ left: 25, width: 50 });
    expect(within(0, 60, { from: 50, to: 100 })).toEqual({ left: 0, width: 20 });
    expect(within(0, 50, { from: 50, to: 100 })).toBeNull();
  });

  it("is said in one line", () => {
    expect(phaseText({ number: 2, active: 1.25, account })).toBe(
      "Phase 2: 0.000000100 s to 0.000000350 s, 1.25 threads active, 42% lost",
    );
  });
});

describe("bottles", () => {
  it("have their neck on top", () => {
    const bottles = [3, 1, 2].map((width) => ({ width }) as Bottle);
    expect(neckFirst(bottles).map(({ width }) => width)).toEqual([1, 2, 3]);
  });
});

describe("the thread of a loss", () => {
  it("is the holder of a lock, else just a thread", () => {
    const loss = { cause: "lock_contention", thread: "w" } as Loss;
    expect([
      threadText(loss),
      threadText({ ...loss, cause: "imbalance" }),
      threadText({ ...loss, thread: null }),
    ]).toEqual(["held by w", "thread w", null]);
  });
});

describe("losses that are folded away", () => {
  const [large, small] = [{ share: 0.001 } as Loss, { share: 0.0009 } as Loss];

  it("are none without which the program would likely be much faster", () => {
    const gains = [1.19, 1.001, null].map((likely) => ({ share: 0.0009, likely }) as Loss);
    expect(gains.map(isWorthALine)).toEqual([true, false, false]);
  });

  it("are called small only where all of them are", () => {
    expect(foldedText([small])).toBe("1 loss below 0.1% of the core time");
    expect(foldedText([small, small])).toBe("2 losses below 0.1% of the core time");
    expect(foldedText([large, small])).toBe("2 further losses");
    expect(foldedText([large])).toBe("1 further loss");
  });
});
