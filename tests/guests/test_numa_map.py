"""`headway numa-map` on a machine of two memory nodes, emulated: the heap is where the kernel was told to put it."""

from __future__ import annotations

import pytest

from support.drivers.numa_guest import NumaGuest

pytestmark = pytest.mark.timeout(1800)
"""As the other tests of this guest: the first of them waits until it has booted, which is bounded by the emulator's CPU time."""
HEAP = 32 << 20
PAGE_BYTES = 4096


def test_a_heap_is_on_the_nodes_that_the_kernel_puts_it_on(two_nodes: NumaGuest) -> None:
    answer = two_nodes.ask("mapped")
    assert answer["exit"] == 0
    shares = {}
    for name, look in answer["looks"].items():
        found = look["found"]
        assert (look["exit"], found["machine_nodes"], found["all_local"]) == (0, [0, 1], False)
        (at,) = found["looks"]
        assert (at["is_heap"], at["is_exact"], at["memory_bytes"], at["unknown"]["bytes"]) == (True, True, HEAP, 0)
        by_node = {str(each["node"]): each["bytes"] for each in at["nodes"]}
        assert by_node == {node: PAGE_BYTES * pages for node, pages in look["kernel"].items()}
        shares[name] = by_node.get("1", 0) / HEAP
    assert 0.3 < shares["spread"] < 0.7  # by turns, huge pages of 2 MiB too
    assert shares["node 1"] == 1
    assert shares["node 0"] == 0
