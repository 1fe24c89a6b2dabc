"""Runs a program of tests/programs below the causal agent, which samples it, beside what the program measures itself."""

from __future__ import annotations

import json
import math
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from support.drivers.workloads import agent

CPU_SECONDS = 2.5


@dataclass(frozen=True)
class SampledLines:
    """`measured`: shares of the CPU time by method, by the thread's own clock; `notes`: what the agent wrote."""

    measured: dict[str, float]
    notes: list[dict[str, Any]]

    def last(self, kind: str) -> dict[str, Any]:
        """Return the last of the agent's notes of a kind."""
        return [note for note in self.notes if note["t"] == kind][-1]

    @property
    def unread_share(self) -> float:
        """Return how much of the sampled CPU time has a stack that could not be read."""
        profile = self.last("profile")
        whole = sum(each[1] for each in profile["lines"]) + profile["unread_ns"] + profile["out_of_scope_ns"]
        return float(profile["unread_ns"] / whole)

    def shares(self) -> dict[str, tuple[float, float]]:
        """Return by method of the program its share of the samples, and that which it measured."""
        methods = {note["id"]: note["method"] for note in self.notes if note["t"] == "line"}
        found: Counter[str] = Counter()
        for line, ran_ns, *_ in self.last("profile")["lines"]:
            found[methods[line]] += ran_ns
        whole = sum(found[name] for name in self.measured)
        return {name: (found[name] / whole, share) for name, share in self.measured.items()}

    def noise(self, share: float) -> float:
        """Return five standard errors, and some, of a share of samples that stand for different times."""
        return 6 * math.sqrt(share * (1 - share) / self.last("health")["samples"])


def run_sampled(java: Path, classes: Path, program: str, spool: Path) -> SampledLines:
    """Run a compiled program, which prints the CPU time of each of its methods, for CPU_SECONDS of work."""
    spec = f"scope:{program};progress:{quote(f'r={program}.java', safe='')}"
    option = f"-agentpath:{agent()}=spool={quote(str(spool))},causal={quote(spec, safe='/._-~+:@')}"
    command = [str(java), option, "-cp", str(classes), program, str(CPU_SECONDS)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert done.stderr == b""
    measured = {each["event"]: each["cpu_ns"] for each in map(json.loads, done.stdout.splitlines())}
    (path,) = spool.glob("causal-*.jsonl")
    notes = [json.loads(line) for line in path.read_text().splitlines()]
    return SampledLines({name: ns / sum(measured.values()) for name, ns in measured.items()}, notes)
