"""Four threads that index with Lucene, and the merge at the end: why is one core idle then?"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.drivers.busy_machine import quietly
from support.drivers.real_servers import asked, command, lost, recorded, warnings_of
from support.drivers.recording_cli import headway

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
THREADS = 4
DOCUMENTS = 1500


@dataclass
class Measured:
    """The recording; how long indexing and merging took, and the CPU time of the threads that index, by the program's clocks."""

    recording: Path
    indexed_ns: int
    merged_ns: int
    cpu_ns: int
    documents: int
    errors: str


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    def measure(folder: Path) -> Measured:
        path = folder / "index.headway"
        done = recorded(path, command("LuceneIndex", THREADS, DOCUMENTS), "--locks", "--sample", "cpu")
        indexed_ns, merged_ns, cpu_ns, documents = (int(word) for word in done.stdout.split())
        return Measured(path, indexed_ns, merged_ns, cpu_ns, documents, done.stderr)

    return quietly(measure, tmp_path_factory.mktemp("lucene"))


def test_the_merge_by_one_thread_is_told_with_lucenes_code_and_for_no_longer_than_it_took(measured: Measured) -> None:
    own = [
        loss
        for loss in lost(asked(measured.recording, "why"))
        if (loss["place"]["thread"] or "").startswith("Lucene Merge Thread")
    ]
    assert own, "as a serial section, or as what main waits for where the compilers have the other core"
    assert own[0]["place"]["method"].startswith("org.apache.lucene.")
    for loss in own:
        assert loss["core_ns"] < measured.merged_ns
        if loss["cause"] == "serial_section":
            assert loss["figures"]["longest_alone_ns"] <= measured.merged_ns


def test_threads_that_index_wait_for_nobody(measured: Measured) -> None:
    said = asked(measured.recording, "why")
    for cause in ("lock_contention", "condition", "io", "starved_consumer", "full_producer"):
        assert said["by_cause"].get(cause, 0) < 0.03 * said["core_ns"], said["by_cause"]


def test_threads_have_the_cpu_time_that_the_jvm_says(measured: Measured) -> None:
    threads = [each for each in asked(measured.recording, "threads") if each["name"].startswith("indexer-")]
    assert len(threads) == THREADS
    assert sum(each["exec_ns"] for each in threads) == pytest.approx(measured.cpu_ns, rel=0.02)


def test_the_index_is_the_same_as_without_headway(measured: Measured) -> None:
    assert measured.documents == THREADS * DOCUMENTS
    assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1


def test_what_is_done_once_for_each_document_is_among_the_first_points_that_are_suggested(tmp_path: Path) -> None:
    """What merges is steadier and takes longer in so short a run, so it may come before."""
    done = headway("causal", "--suggest", "-o", tmp_path / "a.headway", "--", *command("LuceneIndex", 2, DOCUMENTS))
    assert done.returncode == 0, done.stderr
    found = json.loads(headway("causal", tmp_path / "a.headway", "--json").stdout)["suggestions"]
    places = [each["where"] for each in found]
    add = places.index("org.apache.lucene.index.IndexWriter.addDocument")
    assert add < 3, places[:5]
    assert found[add]["hits"] == 2 * DOCUMENTS
