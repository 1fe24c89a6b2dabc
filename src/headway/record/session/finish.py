"""Ends a recording: converts its raw records into tables."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.model.native_part import newer_native_source
from headway.record.collect.listener import Listener
from headway.record.collect.watch import Watch
from headway.record.session.manifest_draft import amend
from headway.store.directory import pinned, without_descriptors
from headway.store.manifest import read_manifest_json
from headway.store.manifest_keys import CAUSAL


def finish(directory: Path, listener: Listener, watch: Watch) -> None:
    """Convert the spool into tables; `listener` gets messages about them.

    Signals are looked at between two batches. The second request to end stops this, and the raw records stay. The first one was
    for the program, which may have ended by itself just before it came: it is answered, and kept for who asks the gate whether
    to go on with other commands. A program that still runs gets its own.
    Raises HeadwayError HW052 (stopped) or HW056 (failed), or those of `finalise`.
    """
    from headway.record.finalise.finalise import finalise

    beside_program = watch.child_pid is not None and not watch.has_ended

    def is_asked_to_stop() -> bool:
        if beside_program:
            watch.wait(0)
            return watch.interrupts > 1
        if not watch.gate.wants_end():
            return False
        watch.interrupts += 1
        if watch.interrupts == 1:
            listener.tell("finalising goes on, since the recording has ended by itself; Ctrl-C once more stops it")
        return watch.interrupts > 1

    def report(share: float) -> None:
        listener.progress(share)
        if share < 1 and is_asked_to_stop():  # at 1 the tables are there, and the raw records gone
            raise KeyboardInterrupt

    before = watch.interrupts
    with explained_failures(directory):
        report(0.0)
        finalise(directory, progress=report)
        for notice in (*_survivors(directory), *_jvms_without_agent(directory)):
            amend(directory, notices=[notice])
            listener.say(notice)
    if watch.interrupts > before and not beside_program:
        watch.gate.keep_request()


def _survivors(directory: Path) -> list[Notice]:
    """Return HW061 when the command ended before processes that it had started, and so its recording before their work."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    draft = read_manifest_json(directory)
    if draft["ended_by"] != "exit" or draft["attached"] or draft["mode"] == "agent":  # the agent sees no process end
        return []
    threads = pq.read_table(pinned(directory) / "thread.parquet", columns=["pid", "tid", "end_ns", "name"])
    alive = pc.and_(pc.is_null(threads["end_ns"]), pc.equal(threads["pid"], threads["tid"]))
    leaders = threads.filter(pc.and_(alive, pc.not_equal(threads["pid"], draft["pid"])))
    if not len(leaders):
        return []
    names = sorted(set(leaders["name"].to_pylist()))
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return [Notice.of("HW061", count=len(leaders), names=shown, pid=leaders["pid"][0].as_py())]


_NO_AGENT_AT_ALL = frozenset(("HW012", "HW013", "HW014", "HW053", "HW057", "HW060"))


def _jvms_without_agent(directory: Path) -> list[Notice]:
    """Return HW062 when JVMs ran that have no agent, other than those of which that was told already.

    HotSpot's own name for one of its threads gives a JVM away.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    draft = read_manifest_json(directory)
    notices = draft["notices"]
    if (
        draft.get("kind") == CAUSAL
        or not draft["with_agent"]
        or any(notice["id"] in _NO_AGENT_AT_ALL for notice in notices)
    ):
        return []
    threads = pq.read_table(pinned(directory) / "thread.parquet", columns=["pid", "name"])
    jvms = set(threads.filter(pc.equal(threads["name"], "VM Thread"))["pid"].to_pylist())
    refused = [notice["message"] for notice in notices if notice["id"] == "HW054"]
    without = sorted(jvms - {jvm["pid"] for jvm in draft["jvms"]})
    without = [pid for pid in without if not any(f"process {pid}:" in message for message in refused)]
    cut = [notice["message"] for notice in notices if notice["id"] == "HW229"]
    without = [pid for pid in without if not any(message.startswith(f"agent-{pid}.") for message in cut)]
    if not without:
        return []
    shown = ", ".join(map(str, without[:3])) + (", ..." if len(without) > 3 else "")
    return [Notice.of("HW062", count=len(without), pids=shown)]


@contextlib.contextmanager
def explained_failures(directory: Path) -> Iterator[None]:
    """Turn any exception while finalising `directory` into HeadwayError HW052 (an interrupt) or HW056 (anything else).

    Whatever it is, the raw records are still there, and their owner must hear so.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise HeadwayError("HW052", path=directory) from None
    except HeadwayError:
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise HeadwayError("HW056", path=directory, reason=_defect_text(error)) from error
        reason = f"{error.strerror}: {error.filename or directory}; to recover it takes room on that disk"
        raise HeadwayError("HW056", path=directory, reason=without_descriptors(reason)) from error
    except Exception as error:
        raise HeadwayError("HW056", path=directory, reason=_defect_text(error)) from error


def _defect_text(error: Exception) -> str:
    """Return what to say of an error that nobody expects."""
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    source = newer_native_source()
    if source is not None:
        reason += f"; {source} was changed after headway's native part was built: make native first"
    return reason
