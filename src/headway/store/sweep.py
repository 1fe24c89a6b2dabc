"""sweep.json as typed values: a sequential and a parallel program, run many times with several numbers of threads.

    NAME.sweep/
      sweep.json                     what was asked for, and what became of every run; replaced in one step at the end
      runs.jsonl                     until then: a line for each run that has ended, appended
      runs/parallel-4-2.headway/     the recording of the second recorded run with four threads
      runs/parallel-4-2.out, .err    what that run wrote; runs/parallel-4-2-plain.out: of the plain run beside it

Readers are forward-compatible: keys they do not know stay in `extra` and survive a rewrite; only a newer `version` is refused.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from headway.errors import HeadwayError
from headway.store import sweep_commands
from headway.store.directory import remove_within
from headway.store.files import naming, open_appended, parse_json, read_bytes, write_text
from headway.store.manifest import StoredNotice
from headway.store.reader import Recording, open_recording

_UNSTORED = ("path", "extra", "_by_threads")
FORMAT = "headway-sweep"
VERSION = 1
FILE = "sweep.json"
RUNS_FILE = "runs.jsonl"

Program = Literal["sequential", "parallel"]
State = Literal["planned", "complete", "failed"]


@dataclass(frozen=True, slots=True)
class SweepRegion:
    """A named part of a program: all stacks with a frame that matches `pattern` (a regular expression)."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One run of one of the two programs. `number` counts runs of the same program, threads and kind from 1.

    `wall_ns` is from the program's exec to its exit, `cpu_ns` the CPU time of it and of what it waited for (rusage);
    both are None until it is complete. `warmup_excluded_ns` is how much of the begin results leave out, None: nothing;
    `startup_ns` is when its JVM reached the main class, None for a plain run and where there is not exactly one JVM.
    `recording` and `output` are relative to the sweep. `attempts` counts how often it was started.
    """

    program: Program
    threads: int
    number: int
    recorded: bool
    state: State = "planned"
    exit_code: int | None = None
    wall_ns: int | None = None
    cpu_ns: int | None = None
    recording: str | None = None
    warmup_excluded_ns: int | None = None
    startup_ns: int | None = None
    attempts: int = 0
    output: str | None = None
    reason: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the run's files: parallel-4-2, or parallel-4-2-plain for a run that is not recorded."""
        return f"{self.program}-{self.threads}-{self.number}{'' if self.recorded else '-plain'}"

    @property
    def measured_ns(self) -> int | None:
        """Return the wall time in ns without the warm-up; None while the run is incomplete."""
        return None if self.wall_ns is None else self.wall_ns - (self.warmup_excluded_ns or 0)


@dataclass(frozen=True, slots=True)
class Sweep:
    """The content of sweep.json. `sequential` None: the parallel program with one thread takes its place.

    Commands are as they were given: words as in a shell, `{threads}` not yet replaced. `cores` is on how many CPUs the
    programs could run; `sample` which events were sampled, as `--sample` has them (of several of the CPU, runs take one each, in
    turn by their numbers), `counters` what recorded runs count at each switch, as `--counters` has it. `from_marker` None:
    nothing is left out of the runs, but what `auto_warmup` finds: `warmup` says what and why (record/series/sweep_warmup.py).
    `regions_found`: nobody gave the regions, they were found in the recordings. `arguments_kept`: what looks like a secret in the
    commands is not masked in sweep.json (sweep_commands.py).
    """

    path: Path
    parallel: str
    sequential: str | None = None
    threads: tuple[int, ...] = ()
    repeat: int = 1
    regions: tuple[SweepRegion, ...] = ()
    sequential_regions: tuple[SweepRegion, ...] = ()
    regions_found: bool = False
    from_marker: str | None = None
    auto_warmup: bool = False
    warmup: Mapping[str, Any] | None = None
    runs: tuple[SweepRun, ...] = ()
    notices: tuple[StoredNotice, ...] = ()
    version: int = VERSION
    created_utc: str = ""
    headway_version: str = ""
    cwd: str = ""
    cores: int | None = None
    cpus: tuple[int, ...] | None = None
    input: str | None = None
    seed: int = 0
    retries: int = 0
    sample: str | None = None
    counters: str | None = None
    arguments_kept: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    _by_threads: dict[tuple[str, int], list[SweepRun]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def select(
        self,
        program: Program,
        threads: int | None = None,
        *,
        recorded: bool | None = None,
        state: State | None = "complete",
    ) -> tuple[SweepRun, ...]:
        """Return the runs of a program by number of threads, kind and state; None selects all."""
        return tuple(
            run
            for run in (self.runs if threads is None else self._runs_with(program, threads))
            if run.program == program
            and threads in (None, run.threads)
            and recorded in (None, run.recorded)
            and state in (None, run.state)
        )

    def _runs_with(self, program: str, threads: int) -> Sequence[SweepRun]:
        """Return a program's runs with a number of threads: found once for all, as there may be as many numbers as runs."""
        if not self._by_threads:
            for run in self.runs:
                self._by_threads.setdefault((run.program, run.threads), []).append(run)
        return self._by_threads.get((program, threads), ())

    def open(self, run: SweepRun) -> Recording:
        """Open the recording of a recorded run. Raises HeadwayError as `open_recording`, HW301 when it has none."""
        return open_recording(self.path / (run.recording or f"runs/{run.name}.headway"))

    def regions_of(self, program: Program) -> tuple[SweepRegion, ...]:
        """Return a program's regions: a region of the sequential program replaces the parallel one of the same name."""
        others = {region.name: region for region in self.sequential_regions} if program == "sequential" else {}
        return tuple(others.get(region.name, region) for region in self.regions)

    def to_json(self) -> dict[str, Any]:
        """Return the form stored in sweep.json."""
        plain = {name: getattr(self, name) for name in _names(type(self)) if name not in _UNSTORED}
        plain = {key: _plain(value) for key, value in plain.items()}
        return {"format": FORMAT, "version": plain.pop("version"), **plain, **self.extra}


def is_sweep(path: Path | str) -> bool:
    """Return whether a directory is a sweep, by its own files."""
    return (Path(path) / FILE).is_file()


def read_sweep(path: Path | str) -> Sweep:
    """Read NAME.sweep, including runs completed since its sweep.json was written.

    Raises HeadwayError HW320 (no sweep), HW321 (made by a newer headway) or HW322 (cut off or damaged).
    """
    path = Path(path)
    data = _read_json(path)
    if data.get("format") != FORMAT or type(data.get("version")) is not int:
        raise HeadwayError("HW320", path=path, reason=f'its {FILE} lacks "format": "{FORMAT}" or a version')
    if data["version"] > VERSION:
        raise HeadwayError("HW321", path=path, version=data["version"], known=VERSION)
    try:
        return _with_ended(_sweep(path, data))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        reason = f"a value is missing or has the wrong type ({error})"
        raise HeadwayError("HW322", path=path / FILE, reason=reason) from error


def write_sweep(sweep: Sweep) -> None:
    """Write sweep.json atomically, with all runs: readers, or a crash, see the old or the new content."""
    shown = without_secrets(sweep)
    if all(run.state == "complete" for run in sweep.runs):
        remove_within(sweep.path, sweep_commands.FILE)
    elif sweep != shown:
        sweep_commands.write_commands(sweep.path, sweep.parallel, sweep.sequential)
    write_text(sweep.path, FILE, json.dumps(shown.to_json(), indent=1, ensure_ascii=False) + "\n", is_synced=True)
    remove_within(sweep.path, RUNS_FILE)


def without_secrets(sweep: Sweep) -> Sweep:
    """Return a sweep as sweep.json stores it: secrets in its commands are masked, unless it keeps them."""
    if sweep.arguments_kept:
        return sweep
    sequential = None if sweep.sequential is None else sweep_commands.masked(sweep.sequential)
    return dataclasses.replace(sweep, parallel=sweep_commands.masked(sweep.parallel), sequential=sequential)


def with_commands(sweep: Sweep) -> Sweep:
    """Return a sweep with its commands unmasked. Raises HeadwayError HW322 when they are gone."""
    given = sweep_commands.read_commands(sweep.path)
    if given is not None:
        return dataclasses.replace(sweep, parallel=given[0], sequential=given[1])
    if not sweep.arguments_kept and any(map(sweep_commands.is_masked, (sweep.parallel, sweep.sequential))):
        reason = "it is gone, and with it the secrets in the commands"
        raise HeadwayError("HW322", path=sweep.path / sweep_commands.FILE, reason=reason)
    return sweep


def append_run(path: Path, place: int, run: SweepRun) -> None:
    """Append a run's new state, given its index in `Sweep.runs`, as one line. Raises OSError.

    The line begins with a line's end of its own, so that one that a crash or a full disk cut off spoils no other.
    """
    line = "\n" + json.dumps({"place": place, "run": _plain(run)}, ensure_ascii=False) + "\n"
    data = line.encode("utf-8", "backslashreplace")
    with naming(path / RUNS_FILE), open(open_appended(path, RUNS_FILE), "ab", buffering=0) as file:
        while data:
            data = data[file.write(data) :]
        os.fsync(file.fileno())


# --- how JSON values become typed ones -----------------------------------------------------------------------------


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = parse_json(read_bytes(path / FILE))
    except (FileNotFoundError, NotADirectoryError):
        reason = "there is no such directory" if not path.exists() else f"it has no {FILE}"
        raise HeadwayError("HW320", path=path, reason=reason) from None
    except OSError as error:
        raise HeadwayError("HW320", path=path, reason=error.strerror or str(error)) from None
    except ValueError as error:
        raise HeadwayError("HW322", path=path / FILE, reason=f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise HeadwayError("HW322", path=path / FILE, reason="not a JSON object")
    return data


def _with_ended(sweep: Sweep) -> Sweep:
    """Return the sweep with the runs that RUNS_FILE has later states of: a run's attempts only grow. A cut-off line is none."""
    try:
        lines = read_bytes(sweep.path / RUNS_FILE).split(b"\n")
    except OSError:
        return sweep
    runs = list(sweep.runs)
    for line in filter(None, lines):
        try:
            data = parse_json(line)
            place, run = data["place"], _run(data["run"])
            if (run.name, run.recorded) == (runs[place].name, runs[place].recorded) and run.attempts > runs[
                place
            ].attempts:
                runs[place] = run
        except (ValueError, KeyError, TypeError, IndexError):
            continue
    return dataclasses.replace(sweep, runs=tuple(runs))


def _sweep(path: Path, data: Mapping[str, Any]) -> Sweep:
    arguments = _split(Sweep, data, ("path", "_by_threads"))
    if not isinstance(arguments.get("counters", ""), str):
        raise TypeError("counters is no text")
    if not isinstance(arguments["parallel"], str):
        raise TypeError("parallel is no command")
    arguments["threads"] = tuple(int(count) for count in arguments.get("threads", ()))
    for key in ("regions", "sequential_regions"):
        arguments[key] = tuple(SweepRegion(str(row["name"]), str(row["pattern"])) for row in arguments.get(key, ()))
        for region in arguments[key]:
            _check_pattern(region)
    arguments["runs"] = tuple(_run(row) for row in arguments.get("runs", ()))
    arguments["notices"] = tuple(
        StoredNotice(str(row["id"]), str(row["message"]), str(row.get("remedy", "")))
        for row in arguments.get("notices", ())
    )
    if arguments.get("cpus") is not None:
        arguments["cpus"] = tuple(int(cpu) for cpu in arguments["cpus"])
    if not isinstance(arguments.get("warmup", {}), dict):
        raise TypeError("warmup is no object")
    return Sweep(path=path, **arguments)


def _check_pattern(region: SweepRegion) -> None:
    """Raise ValueError for a pattern that is no regular expression."""
    try:
        re.compile(region.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern of region {region.name}: {error}") from None


def _run(row: Mapping[str, Any]) -> SweepRun:
    run = SweepRun(**_split(SweepRun, row))
    if run.program not in ("sequential", "parallel") or run.state not in ("planned", "complete", "failed"):
        raise ValueError(f"a run of program {run.program!r} in state {run.state!r}")
    if type(run.threads) is not int or type(run.number) is not int:
        raise TypeError("a run's threads and number are integers")
    if (run.recording or "") not in ("", f"runs/{run.name}.headway") or (run.output or "") not in (
        "",
        f"runs/{run.name}.out",
    ):
        raise ValueError(f"the files of run {run.name} are said to be elsewhere")
    if run.state == "complete" and type(run.wall_ns) is not int:
        raise TypeError("a complete run has no wall_ns")
    return run


def _names(cls: type) -> list[str]:
    return [each.name for each in dataclasses.fields(cls)]


def _split(cls: type, data: Mapping[str, Any], apart: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return constructor arguments: known keys as they are (null means the default), all others under `extra`."""
    known = set(_names(cls)) - {"extra", *apart}
    arguments = {key: value for key, value in data.items() if key in known and value is not None}
    arguments["extra"] = {key: value for key, value in data.items() if key not in known and key != "format"}
    return arguments


def _plain(value: Any) -> Any:
    """Turn a typed value into what json.dump takes, with the `extra` of nested values folded back in."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {name: _plain(getattr(value, name)) for name in _names(type(value)) if name != "extra"}
        return {**fields, **getattr(value, "extra", {})}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value
