"""What all tests share: the profile of hypothesis, so that a machine that stands still for a moment fails no example anywhere,
files that need not survive a power cut, and checks that are done once.
"""

from __future__ import annotations

import gc
import hashlib
import os
import stat
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from headway.cli.main import invoke
from headway.store.checks.ranges import Range, RangeFacts, range_of
from headway.store.manifest import Manifest
from headway.store.reader import Recording
from headway.store.tables import TABLES
from support.drivers import hypothesis_profile as hypothesis_profile

Run = Callable[..., tuple[int, str, str]]
CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, nor later among what was collected, which stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what runs programs of this checkout as other users where these cannot reach it, as below a root's home."""
    closed = [place for place in (CHECKOUT, *CHECKOUT.parents) if not place.stat().st_mode & stat.S_IXOTH]
    for item in items if closed else ():
        if item.get_closest_marker("other_users"):
            item.add_marker(pytest.mark.skip(reason=f"other users cannot reach this checkout: chmod o+x {closed[-1]}"))


@pytest.fixture(scope="session", autouse=True)
def unflushed_files() -> Iterator[None]:
    """Leave it to the kernel when files that this process writes go to disk.

    To wait for that takes 7 ms for each recording that a test builds, and ten times that where others use the disk. What runs in
    a process of its own, as every command that records does, waits as ever.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield


class _Checks:
    """Whether the values of files that have been checked are checked again, as in the folders that ask what these checks do."""

    folders = ("security", "store")
    are_repeated = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say whether this test has every check repeated; called before its fixtures are made, those of its file included."""
    _Checks.are_repeated = item.path.parent.name in _Checks.folders


def _possible(manifest: Manifest, table: str) -> tuple[Range, ...]:
    """Return which values each column of a table may have: all that a check knows of the rest of the recording."""
    window = manifest.window
    span = (window.start_ns, window.end_ns) if window else None
    facts = RangeFacts(span, {name: info.rows for name, info in manifest.tables.items()})
    return tuple(range_of(TABLES[table], column, facts) for column in TABLES[table].columns) if table in TABLES else ()


@pytest.fixture(scope="session", autouse=True)
def values_checked_once() -> Iterator[None]:
    """Let values be checked once where the same bytes are found as the same table, and may hold the same values.

    Tests make many recordings that differ in one table of a dozen, and an answer from one spends a third of its time on checks.
    """
    check, passed = Recording._check_values, set()

    def check_once(recording: Recording, path: Path, table: str, rows: int) -> None:
        if _Checks.are_repeated:
            check(recording, path, table, rows)
            return
        with recording.file(table).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        key = (digest, table, rows, _possible(recording.manifest, table))
        if key not in passed:
            check(recording, path, table, rows)
            passed.add(key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recording, "_check_values", check_once)
        yield


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """A command's exit code, and what it wrote to standard output and to standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = invoke([str(each) for each in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return call
