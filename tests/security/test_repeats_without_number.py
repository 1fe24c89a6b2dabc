"""A recording with very many repeats: no more files are open at a time than a few of them have."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

import pytest

from headway.analyses.scheduling.walltime import walltime
from headway.store import open_recording
from support.builders import recording_builder

REPEATS, AT_ONCE = 14, 11


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("repeats")
    first = recording_builder.make(place / "r.headway", recording_builder.Shape(threads=4, slices=40))
    one = shutil.copytree(first, place / "one.headway")
    for number in range(2, REPEATS + 1):
        shutil.copytree(one, first / "repeats" / f"{number}.headway")
    return first


@pytest.mark.other_users
@pytest.mark.parametrize("owner", [0, 65534])
@pytest.mark.root
def test_repeats_are_closed_once_their_figures_are_known(repeated: Path, owner: int) -> None:
    """Of a thousand repeats each kept a file open, and for root, who opens those of others once, each table of each."""
    if os.geteuid() != 0 and owner:
        pytest.skip("as root only")
    if os.geteuid() == 0:
        for path in (repeated, *repeated.rglob("*")):
            os.chown(path, owner, owner)
    alone = repeated.parent / "one.headway"
    assert walltime(open_recording(alone), [2]).runs == 1  # what is imported is open from here on
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = {*map(int, os.listdir("/proc/self/fd"))}
    free = [number for number in range(len(used) + AT_ONCE) if number not in used]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[AT_ONCE - 1] + 1, hard))
    try:
        assert walltime(open_recording(repeated), [2]).runs == REPEATS
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_recording_that_was_closed_is_read_and_verified_anew(repeated: Path) -> None:
    recording = open_recording(repeated)
    before = recording.query("SELECT count(*) FROM slice").fetchall()
    recording.close()
    assert not recording._verified
    assert recording.query("SELECT count(*) FROM slice").fetchall() == before
    assert "slice" in recording._verified
