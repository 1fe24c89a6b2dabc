"""Four threads index with Lucene, whose accesses are counted: its class Document has one field, so its counts are known.

A document is made and gets one field: the constructor writes the field `fields`, `add` reads it, and so does the iterator that
the index writer asks for once or several times.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.drivers.real_servers import asked, command
from support.drivers.recording_cli import headway

THREADS, DOCUMENTS = 4, 300
SCOPE = "org.apache.lucene.document.*"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lucene") / "index.headway"
    recorder = ("record", "--mode", "agent", "--objects", "accesses", "--object-scope", SCOPE, "-o", path, "--")
    done = headway(*recorder, *command("LuceneIndex", THREADS, DOCUMENTS))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) == THREADS * DOCUMENTS
    return path


def test_each_thread_wrote_the_field_of_its_documents_and_read_it_as_often_for_each(recording: Path) -> None:
    groups = asked(recording, "objects", "--by", "thread-class")["accesses"]["groups"]
    found = {each["thread"]: each for each in groups if each["class"] == "org.apache.lucene.document.Document"}
    indexers = [found[f"indexer-{number}"] for number in range(THREADS)]
    assert [each["tuple"]["write"]["count"] for each in indexers] == [DOCUMENTS] * THREADS
    reads = {each["tuple"]["read"]["count"] for each in indexers}
    assert len(reads) == 1, reads
    for_each, rest = divmod(reads.pop(), DOCUMENTS)
    assert rest == 0
    assert for_each >= 2
    nothing_else = [each["array"][how]["count"] for each in indexers for how in ("read", "write")]
    assert nothing_else == [0] * 2 * THREADS


def test_memory_has_its_reads_for_each_write(recording: Path) -> None:
    total = asked(recording, "objects")["accesses"]
    reads, writes = (total["tuple"][how]["count"] + total["array"][how]["count"] for how in ("read", "write"))
    assert asked(recording, "memory")["figures"]["reads_per_write"]["value"] == reads / writes
