"""manifest.json as typed values: what was recorded, where, how, and how trustworthy it is.

Readers are forward-compatible: keys they do not know stay in `Manifest.extra` and survive a rewrite; keys they miss
take the defaults below. Only a newer `version` is refused (HW302): the meaning of known keys may have changed with it.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.model.secrets import masked_text, masked_words
from headway.store.damage import REFUSALS, damaged, unreadable
from headway.store.files import MOST_JSON_BYTES, parse_json, read_bytes, write_text
from headway.store.manifest_keys import CAUSAL, FILE, FORMAT, VERSION
from headway.store.manifest_types import check_types

_CHECKSUM = "checksum"


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
    """The position of one logical CPU. Unknown values are None; `smt_siblings` leaves out the CPU itself."""

    cpu: int
    core: int | None = None
    package: int | None = None
    node: int | None = None
    smt_siblings: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Host:
    """Facts about the machine; None: unknown."""

    kernel: str = ""
    hypervisor: str | None = None
    cpus_online: tuple[int, ...] = ()
    topology: tuple[Cpu, ...] = ()
    memory_nodes: tuple[int, ...] | None = None
    governor: str | None = None
    memory_bytes: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Invariant:
    """The result of one invariant checked when finalising: `message` says what was compared, with figures."""

    id: str
    ok: bool
    message: str


@dataclass(frozen=True, slots=True)
class LostRecords:
    """Records that were lost: their number, and the number of spans in the table `loss`."""

    events: int = 0
    spans: int = 0


@dataclass(frozen=True, slots=True)
class StoredNotice:
    """A message that marks this recording, with the wording it had then."""

    id: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """The manifest's facts about one Parquet file: a shorter file is truncated, another checksum means damage."""

    rows: int
    bytes: int
    crc32: int | None = None
    """Of the whole file; None in recordings of before."""
    cut_texts: int = field(default=0, compare=False)
    """How many texts were cut short when it was written; a notice says so, this is not stored."""

    def as_json(self) -> dict[str, int | None]:
        """Return the form stored in the manifest."""
        return {"rows": self.rows, "bytes": self.bytes, "crc32": self.crc32}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of manifest.json. docs/explanation/architecture.md explains every key; times and durations are ns."""

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
    losses: LostRecords = field(default_factory=LostRecords)
    invariants: tuple[Invariant, ...] = ()
    notices: tuple[StoredNotice, ...] = ()
    tables: Mapping[str, TableInfo] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_causal(self) -> bool:
        """Return whether this is a causal recording, with the tables of store/schemas/causal.py and no others."""
        return self.extra.get("kind") == CAUSAL

    @classmethod
    def from_json(cls, data: Mapping[str, Any], path: Path | str = "manifest.json") -> Manifest:
        """Build a manifest from parsed JSON; `path` names it in errors.

        Raises HeadwayError HW301 (another format, or values of the wrong type) or HW302 (a newer version).
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise HeadwayError("HW301", path=path, reason=f'its manifest lacks "format": "{FORMAT}"')
        version = data.get("version")
        if type(version) is not int:
            raise HeadwayError("HW301", path=path, reason="its manifest has no version")
        if version > VERSION:
            raise HeadwayError("HW302", path=path, version=version, known=VERSION)
        try:
            check_types(data)
            found = cls(**{key: _PARSE.get(key, _same)(value) for key, value in _split(cls, data).items()})
            return found if data.get("arguments_kept") else _masked(found)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            reason = f"a value has the wrong type ({error})"
            directory = Path(path).parent if Path(path).name == FILE else Path(path)
            raise damaged(directory / FILE, reason, directory) from error

    def to_json(self) -> dict[str, Any]:
        """Return the form that is written to manifest.json."""
        plain = {name: getattr(self, name) for name in _names(type(self)) if name != "extra"}
        return {"format": FORMAT, **{key: _plain(value) for key, value in plain.items()}, **self.extra}


def read_manifest(directory: Path | str) -> Manifest:
    """Read DIRECTORY/manifest.json.

    Raises HeadwayError HW301 (no recording), HW302 (newer version) or HW303 (cut off or damaged).
    """
    return Manifest.from_json(read_manifest_json(directory), Path(directory))


def read_manifest_json(directory: Path | str) -> dict[str, Any]:
    """Return DIRECTORY/manifest.json as parsed JSON, checked only for damage (errors as `read_manifest`)."""
    directory = Path(directory)
    try:
        text = read_bytes(directory / FILE)
    except (FileNotFoundError, NotADirectoryError):
        reason = "there is no such directory"
        if directory.exists():
            reason = f"it has no {FILE}" if directory.is_dir() else "it is no directory"
        if (directory / "sweep.json").is_file():
            reason = "it is a sweep, whose recordings are in its directory runs"
        elif (meant := directory.with_suffix(".headway")) != directory and (meant / FILE).is_file():
            reason += f" (the recording of that name is {meant})"
        raise HeadwayError("HW301", path=directory, reason=reason) from None
    except OSError as error:
        if error.errno in REFUSALS:
            raise unreadable(directory / FILE, error, directory) from None
        reason = error.strerror or str(error)
        if error.errno in (errno.EINVAL, errno.ELOOP, errno.EFBIG):
            reason = f"{FILE}: {reason}"
        raise HeadwayError("HW301", path=directory, reason=reason) from None
    try:
        data = parse_json(text)
    except ValueError as error:
        raise damaged(directory / FILE, f"not JSON: {error}", directory) from None
    if not isinstance(data, dict):
        raise HeadwayError("HW301", path=directory, reason=f"{FILE} is not a JSON object")
    _check_sum(data, directory)
    return data


def _check_sum(data: dict[str, Any], directory: Path) -> None:
    """Take the checksum out of a manifest. Raises HeadwayError HW303 when it is not that of the rest.

    Those of before have none; where tables have one, the manifest does as well.
    """
    recorded_sum = data.pop(_CHECKSUM, None)
    tables = data.get("tables")
    rows = tables.values() if isinstance(tables, dict) else ()
    is_needed = any(isinstance(row, dict) and row.get("crc32") is not None for row in rows)
    if (recorded_sum is not None or is_needed) and recorded_sum != _sum_of(data):
        raise damaged(directory / FILE, "its checksum is not that of what it holds", directory)


def _sum_of(data: Mapping[str, Any]) -> int:
    """Return the CRC-32 of a manifest, whatever the order of its keys and its white space."""
    plain = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return zlib.crc32(plain.encode())


def write_manifest(directory: Path | str, manifest: Manifest | Mapping[str, Any]) -> None:
    """Write DIRECTORY/manifest.json atomically: readers, or a crash, see the old or the new content."""
    data = manifest.to_json() if isinstance(manifest, Manifest) else dict(manifest)
    data.pop(_CHECKSUM, None)
    plain = json.loads(json.dumps(data))  # as it is read again: keys are texts, tuples are lists
    text = json.dumps({**plain, _CHECKSUM: _sum_of(plain)}, indent=1, ensure_ascii=False)
    if len(text) * 4 > MOST_JSON_BYTES and len(text.encode()) >= MOST_JSON_BYTES:  # nobody could read it again
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(Path(directory) / FILE))
    write_text(directory, FILE, text + "\n", is_synced=True)


# --- how JSON values become typed ones -----------------------------------------------------------------------------


def _names(cls: type) -> list[str]:
    return [each.name for each in dataclasses.fields(cls)]


def _split(cls: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return constructor arguments: known keys as they are (null means the default), all others under `extra`."""
    known = set(_names(cls)) - {"extra"}
    arguments = {key: value for key, value in data.items() if key in known and value is not None}
    arguments["extra"] = {key: value for key, value in data.items() if key not in known and key != "format"}
    return arguments


def _masked(manifest: Manifest) -> Manifest:
    """Return a manifest without what looks like a secret in its command and JVMs: an older headway wrote them as they were."""
    jvms = tuple({key: _masked_fact(key, value) for key, value in jvm.items()} for jvm in manifest.jvms)
    return dataclasses.replace(manifest, command=tuple(masked_words(manifest.command)), jvms=jvms)


def _masked_fact(key: str, value: Any) -> Any:
    return masked_text(value, options_only=key == "flags") if isinstance(value, str) else value


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
    nodes = arguments.get("memory_nodes")
    arguments["memory_nodes"] = None if nodes is None else tuple(int(node) for node in nodes)
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
    "losses": lambda data: LostRecords(int(data.get("events", 0)), _spans(data.get("spans", 0))),
    "invariants": lambda rows: tuple(Invariant(**_only(Invariant, row)) for row in rows),
    "notices": lambda rows: tuple(StoredNotice(**_only(StoredNotice, row)) for row in rows),
    "tables": lambda rows: {name: _table(row) for name, row in rows.items()},
}


def _table(row: Mapping[str, Any]) -> TableInfo:
    crc32 = row.get("crc32")
    return TableInfo(int(row["rows"]), int(row["bytes"]), None if crc32 is None else int(crc32))


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
