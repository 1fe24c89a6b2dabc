import { describe, expect, it } from "vitest";
import { isFigure } from "../src/ui/added";

describe("columns of tables that analyses give", () => {
  it("end at the right where all of their cells are figures, with units and intervals", () => {
    const figures = ["12", "1.50 s (1.20 s to 2.00 s)", "<0.1%", "±3", "~1.06 ms", 3, 2.5, null];
    expect(figures.map(isFigure)).toEqual(figures.map(() => true));
    const words = ["byte[]", "unchanged", "", "C2 CompilerThread0", "-Xmx1g"];
    expect(words.map(isFigure)).toEqual(words.map(() => false));
  });
});
