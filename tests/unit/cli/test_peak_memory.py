"""What code takes in memory is measured apart from what the process that measures has taken before."""

from __future__ import annotations

from support.drivers.peak_memory import grown_kib


def test_memory_that_is_taken_and_given_back_is_seen_after_a_test_that_took_more() -> None:
    more = bytearray(b"x" * (150 << 20))
    del more
    grown, printed = grown_kib("import sys", "print(len(sys.argv[1])); len(bytearray(b'x' * (40 << 20)))", "abc")
    assert printed == "3"
    assert 40 << 10 <= grown < 150 << 10
    assert grown_kib("held = bytearray(b'x' * (40 << 20))", "pass")[0] < 20 << 10
