"""Write the figures of build/bench/*.json (make bench-quick, or benchmarks with --json) into docs/explanation/trust.md.

Each benchmark's verdicts become rows of the table between the page's two `measured` marks, with the machine they are from.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "trust.md"
RESULTS = ROOT / "build" / "bench"
MOST_ROWS = 12
"""Of one benchmark; of more, only those that were not reached."""


def table(results: list[Path]) -> str:
    """Return the Markdown of all verdicts. Raises SystemExit if there is none."""
    rows, machines = [], set()
    for path in results:
        said = json.loads(path.read_text())
        if "machine" in said:
            machines.add(
                f"{len(said['machine']['cpus'])} CPUs ({said['machine']['cpu']}), Linux {said['machine']['kernel']}"
            )
        name, *options = str(said.get("benchmark", path.stem)).split()
        command = " ".join([f"benchmarks/{name}.py", *options])
        verdicts = said.get("verdicts", [])
        if len(verdicts) > MOST_ROWS:  # what was reached is one row then
            reached = sum(verdict["reached"] for verdict in verdicts)
            rows.append(f"| `{command}` | {reached} of {len(verdicts)} targets, all but those below | reached |\n")
            verdicts = [verdict for verdict in verdicts if not verdict["reached"]]
        for verdict in verdicts:
            word = "reached" if verdict["reached"] else "open" if "; undecided" in verdict["text"] else "missed"
            word = "-" if verdict["text"].endswith("no target") else word
            rows.append(f"| `{command}` | {verdict['text']} | {word} |\n")
    if not rows:
        raise SystemExit(f"fill_measured: no verdicts in {RESULTS}: run 'make bench-quick'")
    intro = f"On a virtual machine with {'; '.join(sorted(machines))}, shared with others; intervals are 95 %.\n\n"
    return f"{intro}| command | figure | target |\n| --- | --- | --- |\n{''.join(rows)}"


def main() -> int:
    """Fill the page."""
    text = PAGE.read_text(encoding="utf-8")
    filled = re.sub(
        r"(<!-- measured:begin -->\n).*(<!-- measured:end -->)",
        lambda match: match[1] + table(sorted(RESULTS.glob("*.json"))) + match[2],
        text,
        flags=re.DOTALL,
    )
    PAGE.write_text(filled, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
