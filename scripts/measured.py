"""Write what was measured into the docs: tables of README and docs/explanation/trust.md, and two pages of docs/reference.

Every run of a benchmark is one line of benchmarks/results/BENCHMARK.jsonl. benchmarks/results/claims.toml says which figures make
the table. `--keep` adds what `make bench-quick` (or a benchmark with --json) left in build/bench as new runs before it writes.
`--check` writes nothing and fails if a page is stale.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import validation_page

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
CLAIMS = RESULTS / "claims.toml"
README = ROOT / "README.md"
TRUST = ROOT / "docs" / "explanation" / "trust.md"
HISTORY = ROOT / "docs" / "reference" / "benchmark-history.md"
VALIDATION = ROOT / "docs" / "reference" / "validation.md"
MADE = "<!-- Made from benchmarks/results by scripts/measured.py (make reference): change those, not this page. -->\n\n"
VERDICTS = ("none", "reached", "open", "missed")
"""From best to worst; `open`: the figure is within the target, but its interval is not."""
MOST_ROWS = 25
MOST_FIGURES = 12
"""Of one run; of more, only those that were not reached."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure, with its interval, beside its target."""

    text: str
    target: str
    verdict: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a benchmark: when, on what, how, and what came out. `is_partial`: it is of a part of the programs only."""

    benchmark: str
    date: str
    commit: str
    machine: str
    command: str
    conditions: str
    is_partial: bool
    figures: tuple[Figure, ...]
    points: tuple[dict[str, Any], ...] = ()
    """Of causal predictions: {line, gains_pct: {virtual speedup: [predicted, measured]}}."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the table: a claim, and which figures of which benchmark show it."""

    text: str
    benchmark: str
    patterns: tuple[str, ...]
    cause: str


@dataclass(frozen=True, slots=True)
class Row:
    """A claim with the figures of the run that it is taken from."""

    claim: Claim
    run: Run
    shown: tuple[str, ...]
    figures: tuple[Figure, ...]

    @property
    def verdict(self) -> str:
        """The worst of the figures' verdicts."""
        return max((figure.verdict for figure in self.figures), key=VERDICTS.index)


def machine_name(machine: dict[str, Any]) -> str:
    """Return a machine in words: '2 CPUs (AMD EPYC)'."""
    cpus = machine["cpus"] if isinstance(machine["cpus"], int) else len(machine["cpus"])
    return f"{cpus} CPUs ({machine['cpu']})" if machine["cpu"] else f"{cpus} CPUs"


def read_run(benchmark: str, body: dict[str, Any]) -> Run:
    """Make a run of one line's object. Raises KeyError or ValueError if it lacks something."""
    figures = tuple(
        Figure(figure["figure"], figure["target"], figure["verdict"], figure.get("remark", ""))
        for figure in body["figures"]
    )
    if not figures or any(figure.verdict not in VERDICTS for figure in figures):
        raise ValueError(f"{benchmark}: a run of {body['date']} needs figures, each with a verdict of {VERDICTS}")
    command = body.get("command") or f"benchmarks/{benchmark}.py {body['options']}".strip()
    return Run(
        benchmark,
        body["date"],
        body["commit"],
        machine_name(body["machine"]),
        command,
        body["conditions"],
        body.get("partial", False),
        figures,
        tuple(body.get("points", ())),
    )


def read_runs() -> dict[str, list[Run]]:
    """Return all runs by benchmark, in the order in which they were added."""
    return {
        path.stem: [read_run(path.stem, json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(RESULTS.glob("*.jsonl"))
    }


def read_claims() -> list[Claim]:
    """Return the rows that the table is to have."""
    return [
        Claim(body["claim"], body["benchmark"], tuple(body["match"]), body.get("cause", ""))
        for body in tomllib.loads(CLAIMS.read_text(encoding="utf-8"))["claim"]
    ]


def row_of(claim: Claim, runs: list[Run]) -> Row:
    """Return a claim's row, from the newest run that has all of its figures. Raises SystemExit if there is none."""
    for run in reversed(runs):
        found = [
            next(((figure, match[0]) for figure in run.figures if (match := re.search(pattern, figure.text))), None)
            for pattern in claim.patterns
        ]
        if run.is_partial or None in found:
            continue
        pairs = [pair for pair in found if pair is not None]
        row = Row(claim, run, tuple(text for _, text in pairs), tuple(figure for figure, _ in pairs))
        if row.verdict in ("open", "missed") and not claim.cause:
            raise SystemExit(f"measured: '{claim.text}' is {row.verdict}: claims.toml has to say the cause")
        return row
    raise SystemExit(f"measured: no run of {claim.benchmark} has what '{claim.text}' asks for")


def rows() -> list[Row]:
    """Return all rows of the table."""
    runs = read_runs()
    return [row_of(claim, runs[claim.benchmark]) for claim in read_claims()]


def cell(text: str) -> str:
    """Make text safe inside a Markdown table."""
    return text.replace("|", "\\|")


def distinct(texts: list[str]) -> str:
    """Join texts, each once."""
    return "; ".join(dict.fromkeys(text for text in texts if text))


def measured_part() -> str:
    """Return the table of claims."""
    lines = ["| claim | figure [95 % interval] | target | verdict | machine | date, commit |", "| --- " * 6 + "|"]
    shown = rows()
    if len(shown) > MOST_ROWS:
        raise SystemExit(
            f"measured: {len(shown)} claims, where a reader is shown {MOST_ROWS} at most: put some together"
        )
    for row in shown:
        targets = distinct([figure.target for figure in row.figures]) or "all"
        name = f"[{row.claim.benchmark}](../reference/benchmark-history.md#{row.claim.benchmark})"
        lines.append(
            f"| {cell(row.claim.text)} ({name}) | {cell('; '.join(row.shown))} | {cell(targets)} | {row.verdict} "
            f"| {row.run.machine} | {row.run.date}, `{row.run.commit}` |"
        )
    return "\n".join(lines) + "\n"


def misses_part() -> str:
    """Return the list of claims whose targets are missed or open, with their causes."""
    return "".join(
        f"- **{row.claim.text}**: {row.verdict}. {row.claim.cause}\n"
        for row in rows()
        if row.verdict in ("open", "missed")
    )


BESIDE = re.compile(
    r"(?P<tool>.+): CPU of a request (?P<program>[^]]+\]), (?P<whole>[^]]+\]) with the profiler's own; "
    r"saw (?P<seen>.+?) of the computing(?: \(truth (?P<truth>.+)\))?, .+ of the waits"
)
"""A figure of benchmarks/beside_others.py."""
NOISE = re.compile(r"two blocks without a profiler differ by \S+ % \[(?P<low>[-+.\d]+), (?P<high>[-+.\d]+)\]")
"""What the same run measures where there is nothing to measure."""


def beside_noise(cost: str, noise_pct: float) -> str:
    """Return a cost such as "+1.5 % [-1.0, +4.0]", marked where it may be no more than what two equal blocks differ by."""
    ends = [abs(float(number)) for number in re.findall(r"[-+]?[.\d]+", cost)]
    if not noise_pct or min(ends, default=0.0) > noise_pct:
        return cost
    return f"{cost}: noise ±{noise_pct:.1f} %"


def beside_part(runs: list[Run]) -> str:
    """Return what profilers cost beside each other, by the newest run; nothing if there is none."""
    whole = [run for run in runs if not run.is_partial]
    if not whole:
        return ""
    run = whole[-1]
    where = "; ".join(filter(None, [run.machine, run.date, "95 % intervals", run.conditions]))
    lines = [
        "\nWhat profilers cost a warm server whose clients wait at a queue with each request, measured in turn in one run "
        f"([{run.benchmark}](docs/reference/benchmark-history.md#{run.benchmark}); {where}):\n",
        "| profiler | CPU time of a request | with the profiler's own process | computing, as sampled "
        "| as the program measured |",
        "| --- " * 5 + "|",
    ]
    control = NOISE.search(run.conditions)
    noise_pct = max(abs(float(end)) for end in control.groups()) if control else 0.0
    for figure in run.figures:
        match = BESIDE.fullmatch(figure.text)
        if not match:
            raise SystemExit(f"measured: not a figure of {run.benchmark}: {figure.text}")
        tool, program, whole_cost, seen, truth = match.groups()
        costs = (beside_noise(program, noise_pct), beside_noise(whole_cost, noise_pct))
        lines.append(f"| {' | '.join(cell(text or 'not measured') for text in (tool, *costs, seen, truth))} |")
    return "\n".join(lines) + "\n"


def filled(page: Path, parts: dict[str, str]) -> str:
    """Return a page with its generated parts replaced, each between its two marks."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"measured: {page.name} needs one {begin.strip()} and one {end}")
        before, rest = text.split(begin)
        text = f"{before}{begin}{part}{end}{rest.split(end)[1]}"
    return text


def trust_page() -> str:
    """Return docs/explanation/trust.md as the results have it."""
    return filled(TRUST, {"measured": measured_part(), "misses": misses_part()})


def readme() -> str:
    """Return README.md as the results have it."""
    return filled(README, {"beside": beside_part(read_runs().get("beside_others", []))})


def history_page() -> str:
    """Return docs/reference/benchmark-history.md: every run, the newest of each benchmark first."""
    parts = [
        MADE,
        "# Benchmark history\n\n",
        "Every run that was kept, newest first. All machines are virtual and shared with others; intervals are 95 %. The commit "
        "is the one that wrote the figure down.\n",
    ]
    for benchmark, runs in read_runs().items():
        parts.append(f"\n## {benchmark}\n\n| run | figure | target | verdict |\n| --- | --- | --- | --- |\n")
        for run in reversed(runs):
            where = f"{run.date} `{run.commit}`, {run.machine}: `{run.command}`"
            where += f"; {run.conditions}" if run.conditions else ""
            for figure in run.figures:
                verdict = f"{figure.verdict}: {figure.remark}" if figure.remark else figure.verdict
                parts.append(f"| {cell(where)} | {cell(figure.text)} | {cell(figure.target)} | {cell(verdict)} |\n")
                where = "the same run"
        parts += [points_table(run) for run in reversed(runs) if run.points]
    return "".join(parts)


def points_table(run: Run) -> str:
    """Return the table of a run's single points: gains in percent, predicted and really measured."""
    speedups = ("25", "50", "75", "100")
    lines = [
        f"\nRun of {run.date}, `{run.commit}` ({run.conditions}): gains in percent, predicted and measured.\n",
        f"| line | {' | '.join(f'{speedup} % faster' for speedup in speedups)} |",
        "| --- " * (len(speedups) + 1) + "|",
    ]
    for point in run.points:
        gains = [point["gains_pct"].get(speedup) for speedup in speedups]
        cells = ["-" if gain is None else f"{'none' if gain[0] is None else gain[0]}, {gain[1]}" for gain in gains]
        lines.append(f"| {cell(point['line'])} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def validation() -> str:
    """Return docs/reference/validation.md: how far predictions were from what was measured."""
    return validation_page.page(MADE, read_runs(), RESULTS, cell)


PAGES = {README: readme, TRUST: trust_page, HISTORY: history_page, VALIDATION: validation}


def stale() -> list[str]:
    """Return the names of the pages that are not what the results give."""
    return [
        str(page.relative_to(ROOT))
        for page, made in PAGES.items()
        if not page.is_file() or page.read_text(encoding="utf-8") != made()
    ]


def check() -> int:
    """Print the names of the pages that are stale; return 1 if there is one."""
    names = stale()
    for name in names:
        print(f"{name} is stale: run 'make reference'")
    return 1 if names else 0


def write() -> None:
    """Write the pages."""
    for page, made in PAGES.items():
        page.write_text(made(), encoding="utf-8")


def figure_of(verdict: dict[str, Any]) -> dict[str, str]:
    """Make a kept figure of what a benchmark printed: 'mean +0.5 % [...], target +0.7 %; undecided: ...'."""
    text, _, remark = str(verdict["text"]).partition("; undecided: ")
    word = "reached" if verdict["reached"] else "open" if remark else "missed"
    if text.endswith("; no target"):
        text, word = text.removesuffix("; no target"), "none"
    match = re.search(r"[,;] targets? ([^;]+)$", text)
    target = match[1] if match else ""
    return {"figure": text[: match.start()] if match else text, "target": target, "verdict": word, "remark": remark}


def keep(path: Path, conditions: str, is_partial: bool) -> None:
    """Add a benchmark's JSON file to the results, as a run of the commit that is checked out now."""
    body = json.loads(path.read_text(encoding="utf-8"))
    name, *options = str(body.get("benchmark", path.stem)).split()
    if "verdicts" not in body or "machine" not in body:
        raise SystemExit(f"measured: {path} has no verdicts yet: run the benchmark to its end, or with --summary")
    verdicts = body["verdicts"]
    figures = [figure_of(verdict) for verdict in verdicts]
    if len(verdicts) > MOST_FIGURES:
        count = sum(verdict["reached"] for verdict in verdicts)
        figures = [figure for figure in figures if figure["verdict"] in ("open", "missed")]
        figures.insert(0, {"figure": f"{count} of {len(verdicts)} targets", "target": "", "verdict": "reached"})
    commit = ["git", "-C", str(ROOT), "rev-parse", "--short=9", "HEAD"]
    kept = {
        "date": time.strftime("%Y-%m-%d", time.gmtime(path.stat().st_mtime)),
        "commit": subprocess.run(commit, check=True, capture_output=True, text=True).stdout.strip(),
        "machine": {"cpu": body["machine"]["cpu"], "cpus": len(body["machine"]["cpus"])},
        "options": " ".join(options),
        "conditions": conditions,
        **({"partial": True} if is_partial else {}),
        "figures": figures,
        **({"changes": body["changes"]} if "changes" in body else {}),
    }
    read_run(name, kept)
    with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(kept, ensure_ascii=False) + "\n")


def main() -> int:
    """Keep new results if asked to; write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    parser.add_argument("--keep", nargs="*", type=Path, metavar="FILE", help="add these (default: build/bench/*.json)")
    parser.add_argument("--conditions", default="", help="what has to be known of the runs that are added")
    parser.add_argument("--partial", action="store_true", help="they are of a part of the programs: history only")
    options = parser.parse_args()
    if options.check:
        return check()
    if options.keep is not None:
        for path in options.keep or sorted((ROOT / "build" / "bench").glob("*.json")):
            keep(path, options.conditions, options.partial)
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
