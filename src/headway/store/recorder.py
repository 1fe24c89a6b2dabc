"""The headway process that still makes a recording: whether it lives, and by what command it was started."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from headway.errors import HeadwayError
from headway.model.secrets import masked_words
from headway.store.shared_texts import shortened

_COMMAND_BYTES = 200
"""The most of a recorder's command line that a message shows. The program that it records comes last in it."""


def live_recorder(manifest: Mapping[str, object]) -> int | None:
    """Return the pid of the headway that still makes the recording with this manifest, or None.

    The pid alone would not do: it may belong to another process by now, or come from before a reboot.
    """
    pid, ticks = manifest.get("recorder_pid"), manifest.get("recorder_start_ticks")
    if manifest.get("state") != "recording" or type(pid) is not int or type(ticks) is not int:
        return None
    return pid if manifest.get("boot_id") == boot_id() and _is_alive(pid, ticks) else None


def boot_id() -> str:
    """Return the kernel's random id of this boot: start times are comparable only within one."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def not_finalised(path: Path, manifest: Mapping[str, object]) -> HeadwayError:
    """Return HW304 for a recording without tables: who still records it, or that its recorder is gone."""
    pid = live_recorder(manifest)
    if pid is None:
        why, remedy = "its recorder has gone before they were made", f"headway recover {shlex.quote(str(path))}"
    else:
        why = f"process {pid}{_called(pid)} still records it"
        remedy = f"kill -INT {pid}   (stops the recording and finalises it), or wait until it has ended"
    return HeadwayError("HW304", path=path, why=why, next=remedy)


def _is_alive(pid: int, start_ticks: int) -> bool:
    """Return whether a pid is still that of the process that began at a time in clock ticks since boot; a zombie has ended."""
    try:
        state, *others = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return False
    return int(others[18]) == start_ticks and state not in ("Z", "X")


def _called(pid: int) -> str:
    """Return the command line of a process in brackets, without what may be secret; "" where it does not show it."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="backslashreplace").rstrip("\0").split("\0")
    except OSError:
        return ""
    words = words[words.index("-m") + 1 :] if words[1:2] == ["-m"] else words[1:] if "python" in words[0] else words
    command = shlex.join([Path(words[0]).name, *masked_words(words[1:])]) if words and words[0] else ""
    return f" ({shortened(command, _COMMAND_BYTES)})" if command else ""
