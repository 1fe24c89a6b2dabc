"""Files that somebody damaged, or made to do harm: `import` reads what it can or says why not, in bounded time and memory."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.record.imports import collapsed, counters_csv, sources, unpack
from support.builders.hostile_jfr import long_name_of_every_field, long_name_of_every_thread, long_text_in_every_class
from support.drivers.peak_memory import grown_kib

Run = Callable[..., tuple[int, str, str]]
FILES = Path(__file__).resolve().parents[3] / "golden" / "jfr"


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The same with some bits turned, some bytes of ff or 80 (endless numbers), or its end cut off."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 3, 30, 300])):
        at = rng.randrange(len(found)) if rng.random() < 0.8 else rng.randrange(120)
        found[at] = rng.choice([found[at] ^ 1 << rng.randrange(8), 0xFF, 0x80, 0x7F])
    return bytes(found[: rng.randrange(60, len(found))] if rng.random() < 0.3 else found)


@pytest.mark.parametrize("seed", range(24))
def test_a_damaged_jfr_file_is_read_in_part_or_refused(run: Run, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(["2-cpu", "3-cpu-and-wall", "4-wall-nobatch"])
    source, target = tmp_path / "a.jfr", tmp_path / "a.headway"
    source.write_bytes(damaged(gzip.decompress((FILES / f"{name}.jfr.gz").read_bytes()), rng))
    code, out, err = run("import", source, "-o", target)
    assert "Traceback" not in out + err
    if code:
        assert err.startswith("HW3")
        assert not target.exists()
        return
    code, out, err = run("top", target, "--json")
    if not code:
        found = json.loads(out)
        assert found["total"] == sum(each["weight"] for each in found["threads"]) >= 0
    else:  # nothing in it to make a profile of
        assert err.startswith("HW4")


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux")
def test_a_name_that_is_no_text_is_a_name(run: Run, tmp_path: Path) -> None:
    source = Path(os.fsdecode(bytes(tmp_path) + b"/\xff\xfe.jfr"))
    source.write_bytes(gzip.decompress((FILES / "2-cpu.jfr.gz").read_bytes()))
    assert run("import", source, "-o", tmp_path / "a.headway")[0] == 0
    source.write_bytes(b"FLR\0" + bytes(100))
    code, _, err = run("import", source, "-o", tmp_path / "b.headway")
    assert (code, err[:5]) == (1, "HW310")


@pytest.mark.parametrize("name", ["a.collapsed", "a.csv"])
def test_a_line_without_an_end_is_not_held_in_memory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sources, "MOST_LINE", 1000)
    source = tmp_path / name
    source.write_text("a;" * 600)
    code, _, err = run("import", source, "-o", tmp_path / "a.headway")
    assert (code, err[:5]) == (1, "HW314")
    assert "longer than 1,000 characters" in " ".join(err.split())


@pytest.mark.parametrize(("begin", "message"), [(b"FLR\0", "HW312"), (b"\0\0\0\0", "HW310"), (b"#!/b", "HW310")])
def test_a_small_file_that_unpacks_to_a_large_one_is_stopped(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: bytes, message: str
) -> None:
    monkeypatch.setattr(unpack, "_SMALL", 1 << 20)
    source = tmp_path / "a.jfr.gz"
    source.write_bytes(gzip.compress(begin + bytes(8 << 20)))
    code, _, err = run("import", source, "-o", tmp_path / "a.headway")
    assert (code, err[:5]) == (1, message)
    assert [each.name for each in tmp_path.iterdir()] == ["a.jfr.gz"]


IMPORTS = """
from pathlib import Path
from headway.record.finalise.samples.sample_files import read_sample_file
"""
READS_SAMPLES = """print(read_sample_file([Path(sys.argv[1])], {"events": ["cpu"]}, 0).damage)"""


@pytest.mark.parametrize("content", [long_name_of_every_field, long_name_of_every_thread, long_text_in_every_class])
def test_a_text_that_a_small_file_names_again_and_again_is_not_copied_without_end(
    tmp_path: Path, content: Callable[[], bytes]
) -> None:
    """As root reads the file of a stranger's sampler: gigabytes would cost every other JVM's recording."""
    source = tmp_path / "sample-1.jfr"
    source.write_bytes(content())
    assert source.stat().st_size < 4 << 20
    kib, damage = grown_kib(IMPORTS, READS_SAMPLES, source)
    assert kib < 700 << 10
    assert "names" in damage or "description" in damage


def test_stacks_of_one_letter_each_take_the_memory_of_numbers(tmp_path: Path) -> None:
    """A file of 16 MB, of stacks with 4096 frames of a letter each, took 1.6 GB."""
    source = tmp_path / "a.collapsed"
    with source.open("w") as out:
        out.writelines(f"{'a;' * 4095}{number} 1\n" for number in range(100))
    tables = collapsed._Tables()
    with source.open() as lines:
        for number, line in enumerate(lines, 1):
            collapsed._take(tables, source, number, line.strip(), 1)
    tracemalloc.start()
    try:
        rows = collapsed._stacks(tables)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows.num_rows == 100 * 4096
    assert rows.column("frame_id").to_pylist()[:3] == [0, 1, 1]
    assert rows.column("depth").to_pylist()[4094:4098] == [4094, 4095, 0, 1]
    assert peak < 50 * rows.num_rows  # a row as a tuple is 200 bytes


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("MOST_STACKED", "more than 5 frames"),
        ("MOST_NAMED", "more than 5 different frames"),
        ("MOST_NAME_CHARACTERS", "names of more than 5 characters"),
        ("MOST_LINES", "more than 5 stacks"),
    ],
)
def test_stacks_without_end_are_refused_with_the_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, said: str
) -> None:
    source = tmp_path / "a.collapsed"
    source.write_text("".join(f"a;b;{number % 4} 1\n" for number in range(6)))
    assert run("import", source, "-o", tmp_path / "a.headway")[0] == 0
    monkeypatch.setattr(collapsed, limit, 5)
    code, _, err = run("import", source, "-o", tmp_path / "b.headway")
    assert (code, err[:5]) == (1, "HW314")
    assert said in err
    assert not (tmp_path / "b.headway").exists()


def test_counters_without_end_are_refused_with_the_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.csv"
    source.write_text("threads,cycles\n" + "1,1\n" * 5)
    monkeypatch.setattr(counters_csv, "MOST_ROWS", 5)
    assert run("import", source, "-o", tmp_path / "a.headway")[0] == 0
    source.write_text("threads,cycles\n" + "1,1\n" * 6)
    code, _, err = run("import", source, "-o", tmp_path / "b.headway")
    assert code == 1
    assert err.startswith("HW314")
    assert "line 7" in err
    assert "more than 5 rows" in err
