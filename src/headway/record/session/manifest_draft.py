"""The manifest while recording: facts that only the recorder knows, written step by step so that they survive its death.

The first draft is on disk before the program's first instruction; `recorder_pid`, `recorder_start_ticks` and
`boot_id` tell later whether the recorder still lives.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway import __version__
from headway.model.secrets import masked_words
from headway.record.doctor.capabilities import Mode
from headway.record.machine import host
from headway.record.session.plan import Plan
from headway.record.target_process.processes import Process
from headway.store.manifest import read_manifest_json, write_manifest
from headway.store.manifest_keys import FORMAT, VERSION
from headway.store.recorder import boot_id


def first_draft(plan: Plan, mode: Mode, root: int, command: Iterable[str], cpus: Iterable[int]) -> dict[str, Any]:
    """Return the manifest at the start of a recording; `cpus` is where the program may run."""
    me = Process.of(os.getpid())
    affinity = sorted(cpus)
    quota = host.quota(host.cgroups(root))
    causal = {"kind": "causal", "causal": plan.causal.as_json()} if plan.causal is not None else {}
    return {
        "format": FORMAT,
        "version": VERSION,
        "state": "recording",
        "created_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "headway_version": __version__,
        "mode": mode,
        "command": list(command) if plan.keep_arguments else masked_words(command),
        "arguments_kept": plan.keep_arguments,
        "cwd": _working_directory(root),
        "pid": root,
        "attached": plan.pid is not None,
        "exit_code": None,
        "signal": None,
        "ended_by": "recorder-died",  # until something else is known
        "host": host.host_facts(),
        "affinity": affinity,
        "recorded_cores": len(affinity),
        "quota_cores": quota.cores,
        "jvm_processors": plan.jvm_processors,
        "with_agent": plan.with_agent,
        "locks": _locks(plan),
        "sampling": plan.sample.as_json() if plan.sample is not None else {},
        **({"objects": plan.objects.as_json()} if plan.objects is not None else {}),
        **({"counters": plan.counted.as_json()} if plan.counted is not None else {}),
        **({"iterations": {"by": str(plan.iterations)}} if plan.iterations is not None else {}),
        "recorder_pid": os.getpid(),
        "recorder_start_ticks": me.start_ticks if me else None,
        "boot_id": boot_id(),
        "window": {"start_ns": time.monotonic_ns(), "end_ns": time.monotonic_ns()},
        "notices": [],
        **causal,
    }


def _locks(plan: Plan) -> dict[str, Any]:
    """Return what was asked for of locks, which the manifest keeps beside what came of it; nothing when they are left alone."""
    if plan.locks is None:
        return {}
    return {"threshold": plan.locks.park_threshold or None, "forget_dead": plan.locks.forget_dead}


def amend(directory: Path, **facts: Any) -> None:
    """Set keys of the manifest on disk; `notices` are added to its notices, each once."""
    manifest = read_manifest_json(directory)
    added = [notice.as_json() for notice in facts.pop("notices", ())]
    known = manifest.get("notices") or []
    manifest["notices"] = known + [notice for notice in added if notice not in known]
    write_manifest(directory, {**manifest, **facts})


def _working_directory(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""
