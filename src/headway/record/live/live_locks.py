"""The locks of a JVM while it runs: reads the agent's table from its file; a recorded JVM is neither stopped nor asked.

The table of a JVM is found by its memory map, whoever records it. Where nothing records the JVM, the agent is attached for as
long as somebody looks: the JVM stops for moments as its hooks go in and out, and compiles code anew. As root, the table of a JVM
that is not as good as headway (another user's, a container's) is read by copies (copies.py).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from headway.errors import HeadwayError
from headway.record.agent.attach import AttachResult, attach, denied
from headway.record.agent.fetching import spool_of, table_of
from headway.record.agent.orphans import silence_left_behind
from headway.record.live.copies import Content, Copies, not_read
from headway.record.live.table_file import FirstEvents, TableFile, table_of_copies, table_of_descriptor
from headway.record.request.jvm_options import LockOptions, agent_library
from headway.record.target_process import processes
from headway.record.target_process.deadline import Deadline, Interrupted, within
from headway.record.target_process.mapped_files import MappedFile, PinnedFile, mapped_spools, mapped_tables
from headway.record.target_process.processes import Process
from headway.record.target_process.rights import Rights, acts_here, rights_of
from headway.record.target_process.served_files import ServedError
from headway.store.scratch import make_scratch

_MAP_LIMIT_S = 10.0
"""How long a process may take to show what it has mapped."""
_TABLE_LIMIT_S = 20.0
"""How long an agent that was attached may take to have its table ready."""
_LOOK_LIMIT_S = 5.0
"""So long may one look at a table, or at the records beside it, take that a stranger may keep from being read."""


@contextlib.contextmanager
def live_locks(process: Process, interrupted: Callable[[], bool] | None = None) -> Iterator[tuple[TableFile, bool]]:
    """Give the table of a running JVM, and whether the agent was attached for it (then it is taken out again).

    Raises HeadwayError HW004 (it has ended; whoever has its number by now is never taken for it), HW024 (it keeps its files from
    being read), HW064 (recorded without locks), HW065, or what `attach` raises; Interrupted.
    """
    table = _table_of_others(process, Deadline.after(_MAP_LIMIT_S, interrupted or _never))
    if table is not None:
        try:
            yield table, False
        finally:
            table.close()
        return
    with _attached(process, interrupted) as table:
        yield table, True


def _never() -> bool:
    return False


def _table_of_others(process: Process, deadline: Deadline) -> TableFile | None:
    """Return the table that another headway's agent keeps; None where there is none, or it was left behind."""
    pid = process.pid
    try:
        rights = within(deadline, lambda: rights_of(pid))
        if silence_left_behind(pid, rights, deadline):
            return None
        return _if_alive(process, mapped_table(pid, rights, deadline))
    except ServedError as error:
        raise HeadwayError("HW074", pid=pid, path=error.path, kind=error.kind) from None
    except TimeoutError:
        raise HeadwayError("HW024", pid=pid) from None
    except PermissionError as error:
        raise denied(pid, error) from error
    except ProcessLookupError:
        raise HeadwayError("HW004", pid=pid, reason="there is no such process") from None
    except OSError as error:
        raise not_read(f"what process {pid} has mapped", error) from error


def _if_alive(process: Process, table: TableFile | None) -> TableFile | None:
    """Return what was found by a process's number. Raises ProcessLookupError where that may have been another's by then."""
    if not process.is_alive:
        if table is not None:
            table.close()
        raise ProcessLookupError(process.pid)
    return table


@contextlib.contextmanager
def _attached(process: Process, interrupted: Callable[[], bool] | None) -> Iterator[TableFile]:
    scratch = make_scratch("live")
    try:
        try:
            locks = LockOptions(ask_owners=False)
            result = attach(
                process.pid,
                agent_library(),
                scratch.path,
                locks=locks,
                interrupted=interrupted,
                start_ticks=process.start_ticks,
            )
        except HeadwayError as error:
            if error.notice.id == "HW027":
                raise HeadwayError("HW064", pid=process.pid, reason="its recorder was not told --locks") from None
            raise
        try:
            table = _wait_for_table(result, interrupted)
            try:
                yield table
            finally:
                table.close()
        finally:
            with contextlib.suppress(HeadwayError, OSError):
                result.detach(timeout_s=10)
            with contextlib.suppress(OSError):
                result.close()
    finally:
        scratch.remove()


def _wait_for_table(result: AttachResult, interrupted: Callable[[], bool] | None) -> TableFile:
    """Return the table once the agent has mapped it: it is ready a moment after the agent answers."""
    pid = result.facts.pid
    deadline = Deadline.after(_TABLE_LIMIT_S, interrupted or _never)
    why: HeadwayError | None = None
    try:
        while processes.is_jvm(pid):
            try:
                table = _table_of_ours(result, deadline)
                if table is not None:
                    return table
            except HeadwayError as error:  # it may be written just now
                why = error
            if deadline.interrupted():
                raise Interrupted
            deadline.pause(0.02)
    except OSError:
        pass
    raise why or HeadwayError("HW073", pid=pid)


def _table_of_ours(result: AttachResult, deadline: Deadline) -> TableFile | None:
    """Return the table of the agent that we attached, None when there is none yet. Raises OSError, HeadwayError HW065."""
    try:
        found = mapped_table(result.facts.pid, result.facts.rights, deadline)
        return _if_alive(Process(result.facts.pid, result.facts.start_ticks), found)
    except ServedError:  # or in layers that others have put together, which may never answer
        table = table_of(result.spool)

        def content_of(file: Path) -> Content:
            return lambda most: result.content(file.name, most, Deadline.after(_LOOK_LIMIT_S, deadline.interrupted))

        name = _name_of(table.name, result.facts.pid)
        try:
            return table_of_copies(name, Copies(name, content_of(table), content_of(result.spool)))
        except FileNotFoundError:
            return None


def mapped_table(pid: int, rights: Rights, deadline: Deadline) -> TableFile | None:
    """Return the table that the process has mapped, None when there is none that is a file of its user's.

    Raises TimeoutError, ServedError, PermissionError where its map can't be read, HeadwayError HW065 where the table can't.
    """
    why: HeadwayError | None = None
    for file in mapped_tables(pid, deadline):
        try:
            return _opened(file, rights, deadline) if acts_here(rights) else _copied(file, rights, deadline)
        except (FileNotFoundError, PermissionError):
            continue
        except (TimeoutError, ServedError):
            raise
        except OSError as error:  # what the process can bring about: a lease on the file, a link in its place ...
            why = not_read(_name_of(file.path, pid), error)
    if why is not None:
        raise why
    return None


def _name_of(path: str, pid: int) -> str:
    return f"{path} of process {pid}"


def _opened(file: MappedFile, rights: Rights, deadline: Deadline) -> TableFile:
    """Return a mapped table, opened. Raises OSError, HeadwayError HW065, Interrupted."""

    def firsts() -> FirstEvents | None:
        spool = _spool_beside(file, deadline)
        if spool is None:
            return None
        with contextlib.suppress(OSError), PinnedFile(spool, rights, deadline) as pinned_file:
            return FirstEvents(pinned_file.opened(deadline))
        return None

    with PinnedFile(file, rights, deadline) as pinned_file:
        fd = pinned_file.opened(deadline)
    return table_of_descriptor(fd, _name_of(file.path, file.pid), firsts)


def _copied(file: MappedFile, rights: Rights, deadline: Deadline) -> TableFile:
    """Return a mapped table as copies of it and of the records beside it. Raises OSError, HeadwayError HW065, Interrupted."""
    name = _name_of(file.path, file.pid)
    with contextlib.ExitStack() as links:

        def content_of(mapped: MappedFile) -> Content:
            pinned_file = links.enter_context(PinnedFile(mapped, rights, deadline))
            return lambda most: pinned_file.content(most, Deadline.after(_LOOK_LIMIT_S, deadline.interrupted))

        table, records = content_of(file), None
        with contextlib.suppress(FileNotFoundError, PermissionError, ServedError):
            spool = _spool_beside(file, deadline)
            records = None if spool is None else content_of(spool)
        copies = Copies(name, table, records, links)
    return table_of_copies(name, copies)


def _spool_beside(table: MappedFile, deadline: Deadline) -> MappedFile | None:
    """Return the records beside a table that a process has mapped, None where it has none mapped. Raises OSError."""
    name = spool_of(Path(table.path)).name
    spools = mapped_spools(table.pid, deadline)
    return next(
        (each for each in spools if (os.path.basename(each.path), each.directory) == (name, table.directory)), None
    )
