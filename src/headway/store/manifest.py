"""manifest.json as typed values: what was recorded, where, how, and how far it can be trusted.

Readers are forward-compatible: keys they do not know stay in `Manifest.extra` and survive a rewrite; keys they miss
take the defaults below. Only a newer `version` is refused (HW302): the meaning of known keys may have changed with it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError

FORMAT = "headway-recording"
VERSION = 1
FILE = "manifest.json"
CAUSAL = "causal"
"""What the key `kind` says of a causal recording; of others it is missing."""


@dataclass(frozen=True, slots=True)
class Window:
    """The recorded span, CLOCK_MONOTONIC ns: from the command's exec (or attach) to the root's exit (or the stop)."""

    start_ns: int
    end_ns: int

    @property
    def dur_ns(self) -> int:
        """Return the wall time of the recording in ns."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Cpu:
    """One logical CPU: where it sits. Unknown places are None; `smt_siblings` leaves out the CPU itself."""

    cpu: int
    core: int | None = None
    package: int | None = None
    node: int | None = None
    smt_siblings: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Host:
    """The machine. None: it does not tell."""

    kernel: str = ""
    hypervisor: str | None = None
    cpus_online: tuple[int, ...] = ()
    topology: tuple[Cpu, ...] = ()
    governor: str | None = None
    memory_bytes: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Invariant:
    """One check made at finalise: `message` says what was compared, with figures."""

    id: str
    ok: bool
    message: str


@dataclass(frozen=True, slots=True)
class Losses:
    """Records that could not be taken: their number, and in how many spans of the table `loss`."""

    events: int = 0
    spans: int = 0


@dataclass(frozen=True, slots=True)
class StoredNotice:
    """A message that marks this recording, as it was worded when it was recorded."""

    id: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What the manifest says of one Parquet file: a shorter file is a truncated one."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What manifest.json holds. docs/explanation/architecture.md explains every key; times and durations are ns."""

    version: int = VERSION
    state: str = "complete"
    created_utc: str = ""
    headway_version: str = ""
    mode: str = "ebpf"
    command: tuple[str, ...] = ()
    cwd: str = ""
    pid: int | None = None
    attached: bool = False
    exit_code: int | None = None
    signal: int | None = None
    ended_by: str | None = None
    window: Window | None = None
    host: Host = field(default_factory=Host)
    affinity: tuple[int, ...] = ()
    recorded_cores: int | None = None
    quota_cores: float | None = None
    steal_ns: Mapping[str, int] = field(default_factory=dict)
    other_ns: Mapping[str, int] = field(default_factory=dict)
    jvms: tuple[Mapping[str, Any], ...] = ()
    switches: int | None = None
    losses: Losses = field(default_factory=Losses)
    invariants: tuple[Invariant, ...] = ()
    notices: tuple[StoredNotice, ...] = ()
    tables: Mapping[str, TableInfo] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_causal(self) -> bool:
        """Return whether experiments were made, so that it has the tables of store/causal_tables.py and no others."""
        return self.extra.get("kind") == CAUSAL

    @classmethod
    def from_json(cls, data: Mapping[str, Any], path: Path | str = "manifest.json") -> Manifest:
        """Build a manifest from parsed JSON; `path` names it in errors.

        Raises HeadwayError HW301 (another format, or values of the wrong type) or HW302 (a newer version).
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise HeadwayError("HW301", path=path, reason=f'its manifest lacks "format": "{FORMAT}"')
        version = data.get("version")
        if not isinstance(version, int):
            raise HeadwayError("HW301", path=path, reason="its manifest has no version")
        if version > VERSION:
            raise HeadwayError("HW302", path=path, version=version, known=VERSION)
        try:
            return cls(**{key: _PARSE.get(key, _same)(value) for key, value in _split(cls, data).items()})
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            reason = f"a value has the wrong type ({error})"
            directory = Path(path).parent if Path(path).name == FILE else Path(path)
            raise damaged(directory / FILE, reason, directory) from error

    def to_json(self) -> dict[str, Any]:
        """Return the form that is written to manifest.json."""
        plain = {name: getattr(self, name) for name in _names(type(self)) if name != "extra"}
        return {"format": FORMAT, **{key: _plain(value) for key, value in plain.items()}, **self.extra}


ANEW = "copy it again from where it was made; without that, record again: headway record -o NAME.headway -- CMD"
ANEW_CAUSAL = "copy it again from where it was made; without that: headway causal --progress CLASS.METHOD -- CMD"
ANEW_IMPORTED = "copy it again from where it was made; without that: headway import FILE -o NAME.headway"


def damaged(path: Path, reason: str, directory: Path) -> HeadwayError:
    """Return the error of a damaged file of the recording `directory`, with what helps: tables can be made from a spool."""
    if path.name != FILE and (directory / "spool").is_dir():
        return HeadwayError("HW303", path=path, reason=reason, next=f"headway recover {directory}")
    return HeadwayError("HW303", path=path, reason=reason, next=_anew(directory))


def no_spool(directory: Path, draft: Mapping[str, Any]) -> HeadwayError:
    """Return the error of a recording without raw records, with what helps: it is whole, or there is nothing to be had."""
    state = draft.get("state")
    reason = f"it is {state} and has no spool/" if state != "recording" else "it has neither tables nor a spool/"
    analysis = "causal" if draft.get("kind") == CAUSAL else "parallelism"
    whole = state in ("complete", "partial")
    return HeadwayError(
        "HW308", path=directory, reason=reason, next=f"headway {analysis} {directory}" if whole else _anew(directory)
    )


def _anew(directory: Path) -> str:
    """Return how to get a recording anew, by what its manifest tells of it, if it can be read."""
    try:
        draft = json.loads((directory / FILE).read_text(encoding="utf-8"))
        kind = (draft.get("kind"), draft.get("mode"))
    except (OSError, ValueError, AttributeError):
        return ANEW
    return ANEW_CAUSAL if kind[0] == CAUSAL else ANEW_IMPORTED if "import" in kind else ANEW


def read_manifest(directory: Path | str) -> Manifest:
    """Read DIRECTORY/manifest.json.

    Raises HeadwayError HW301 (no recording), HW302 (newer version) or HW303 (cut off or damaged).
    """
    return Manifest.from_json(read_manifest_json(directory), Path(directory))


def read_manifest_json(directory: Path | str) -> dict[str, Any]:
    """Return DIRECTORY/manifest.json as parsed, unchecked but for being a JSON object (errors as `read_manifest`)."""
    directory = Path(directory)
    try:
        text = (directory / FILE).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        reason = "there is no such directory" if not directory.exists() else f"it has no {FILE}"
        if (directory / "sweep.json").is_file():
            reason = "it is a sweep, whose recordings are in its directory runs"
        raise HeadwayError("HW301", path=directory, reason=reason) from None
    except UnicodeDecodeError as error:
        raise damaged(directory / FILE, str(error), directory) from None
    except OSError as error:
        raise HeadwayError("HW301", path=directory, reason=error.strerror or str(error)) from None
    try:
        data = json.loads(text)
    except ValueError as error:
        raise damaged(directory / FILE, f"not JSON: {error}", directory) from None
    if not isinstance(data, dict):
        raise HeadwayError("HW301", path=directory, reason=f"{FILE} is not a JSON object")
    return data


def write_manifest(directory: Path | str, manifest: Manifest | Mapping[str, Any]) -> None:
    """Write DIRECTORY/manifest.json in one step: a reader, or a crash, sees the old one or the new one, never half."""
    data = manifest.to_json() if isinstance(manifest, Manifest) else dict(manifest)
    target = Path(directory) / FILE
    scratch = target.with_name(f".{FILE}.{os.getpid()}.new")
    with open(scratch, "w", encoding="utf-8") as out:
        json.dump(data, out, indent=1, ensure_ascii=False)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())
    os.replace(scratch, target)


# --- how JSON values become typed ones -----------------------------------------------------------------------------


def _names(cls: type) -> list[str]:
    return [each.name for each in dataclasses.fields(cls)]


def _split(cls: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return constructor arguments: known keys as they are (null means the default), all others under `extra`."""
    known = set(_names(cls)) - {"extra"}
    arguments = {key: value for key, value in data.items() if key in known and value is not None}
    arguments["extra"] = {key: value for key, value in data.items() if key not in known and key != "format"}
    return arguments


def _only(cls: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of `data` that `cls` knows, for types that do not carry unknown keys along."""
    return {key: data[key] for key in _names(cls) if key in data}


def _same(value: Any) -> Any:
    return value


def _cpu(data: Mapping[str, Any]) -> Cpu:
    return Cpu(**{**_only(Cpu, data), "smt_siblings": tuple(data.get("smt_siblings") or ())})


def _host(data: Mapping[str, Any]) -> Host:
    arguments = _split(Host, data)
    arguments["topology"] = tuple(_cpu(cpu) for cpu in arguments.get("topology", ()))
    arguments["cpus_online"] = tuple(int(cpu) for cpu in arguments.get("cpus_online", ()))
    return Host(**arguments)


def _per_cpu(value: Any) -> dict[str, int]:
    """Per-CPU figures by CPU number; a list is read as CPU 0, 1, ..."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value)
    return {str(cpu): int(ns) for cpu, ns in items}


_PARSE: dict[str, Any] = {
    "window": lambda data: Window(int(data["start_ns"]), int(data["end_ns"])),
    "host": _host,
    "command": lambda words: tuple(str(word) for word in words),
    "affinity": lambda cpus: tuple(int(cpu) for cpu in cpus),
    "steal_ns": _per_cpu,
    "other_ns": _per_cpu,
    "jvms": lambda rows: tuple(dict(row) for row in rows),
    "losses": lambda data: Losses(int(data.get("events", 0)), _spans(data.get("spans", 0))),
    "invariants": lambda rows: tuple(Invariant(**_only(Invariant, row)) for row in rows),
    "notices": lambda rows: tuple(StoredNotice(**_only(StoredNotice, row)) for row in rows),
    "tables": lambda rows: {name: TableInfo(int(row["rows"]), int(row["bytes"])) for name, row in rows.items()},
}


def _spans(value: Any) -> int:
    return len(value) if isinstance(value, list) else int(value)


def _plain(value: Any) -> Any:
    """Turn a typed value into what json.dump takes, with the `extra` of nested values folded back in."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {name: _plain(getattr(value, name)) for name in _names(type(value)) if name != "extra"}
        return {**fields, **getattr(value, "extra", {})}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return value
