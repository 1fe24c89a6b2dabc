"""Flame graphs as the page takes them: of a bounded size, with every sum exact and no name that could do anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.stacks.types import Profile
from headway.report.html.flame_pack import json_bytes, leb128, pack, visible
from headway.report.html.page import script_safe_json
from headway.report.html.profile import flame_graph
from support.builders.flame_pages import Node, Path, Stacks, diff_of, profile_of, unpacked, wide_profile

LETTERS = st.sampled_from("abcdefgh")
STACKS = st.dictionaries(
    st.lists(LETTERS, min_size=1, max_size=7).map(tuple), st.integers(0, 2**50), min_size=1, max_size=40
)


def shown(found: Profile, limit: int) -> tuple[dict[str, Any], list[Node]]:
    flames = pack([flame_graph(found)], limit)
    return flames, unpacked(flames, flames["graphs"][0]["merged"])


def under(nodes: list[Node], path: Path) -> int:
    return sum(node.self_weight for node in nodes if node.path[: len(path)] == path)


@given(STACKS)
def test_a_graph_that_fits_holds_every_stack_with_its_weight(stacks: dict[Path, int]) -> None:
    flames, nodes = shown(profile_of(stacks), 10**6)
    assert {node.path[1:]: node.self_weight for node in nodes if node.self_weight} == {
        path: weight for path, weight in stacks.items() if weight
    }
    assert flames["graphs"][0]["total"] == sum(stacks.values())
    assert flames["graphs"][0]["notes"] == []
    assert all(node.merged == 0 for node in nodes)


@given(STACKS, st.integers(400, 900))
def test_what_does_not_fit_is_merged_with_its_exact_sum_and_number(stacks: Stacks, limit: int) -> None:
    found = profile_of(stacks)
    flames, nodes = shown(found, limit)
    assert json_bytes(flames) <= max(limit, json_bytes(pack([flame_graph(found)], 0)))
    everything = {path[:depth] for path in stacks for depth in range(1, len(path) + 1)}
    kept = {node.path[1:] for node in nodes if not node.merged and len(node.path) > 1}
    # Every kept frame is as wide as in the profile, whatever was merged below it.
    for path in kept:
        wanted = sum(weight for stack, weight in stacks.items() if stack[: len(path)] == path)
        assert under(nodes, ("all", *path)) == wanted
    assert under(nodes, ("all",)) == sum(stacks.values())
    # Nothing is there twice, nothing is forgotten, and no caller has two merged nodes.
    assert kept <= everything
    assert sum(node.merged for node in nodes) == len(everything) - len(kept)
    callers = [node.path[:-1] for node in nodes if node.merged]
    assert len(callers) == len(set(callers))
    assert (len(kept) < len(everything)) == bool(flames["graphs"][0]["notes"])


@given(STACKS, st.integers(0, 12))
def test_the_heaviest_frames_are_kept(stacks: dict[Path, int], leave: int) -> None:
    found = profile_of(stacks)
    whole = json_bytes(pack([flame_graph(found)], 10**6))
    _, nodes = shown(found, whole - leave * 8)
    totals: dict[Path, int] = {}
    for stack, weight in stacks.items():
        for depth in range(1, len(stack) + 1):
            totals[stack[:depth]] = totals.get(stack[:depth], 0) + weight
    kept = {node.path[1:] for node in nodes if not node.merged and len(node.path) > 1}
    lost = [total for path, total in totals.items() if path not in kept]
    assert not lost or not kept or max(lost) <= min(totals[path] for path in kept)


@given(STACKS, STACKS, st.integers(400, 2000))
def test_two_profiles_in_one_tree_keep_the_sums_of_both(before: dict[Path, int], after: Stacks, limit: int) -> None:
    graph = flame_graph(diff_of(before, after), versus="the old one")
    flames = pack([graph], limit)
    nodes = unpacked(flames, flames["graphs"][0]["merged"])
    assert sum(node.self_weight for node in nodes) == flames["graphs"][0]["total"] == sum(after.values())
    assert sum(node.other for node in nodes) == flames["graphs"][0]["versus"]["total"] == sum(before.values())


def test_a_hundred_thousand_stacks_fit_the_limits_and_say_what_was_merged() -> None:
    found = wide_profile()
    for limit in (600_000, 8_000_000):
        flames = pack([flame_graph(found)], limit)
        assert len(script_safe_json(flames).encode()) <= limit
        nodes = unpacked(flames, flames["graphs"][0]["merged"])
        assert sum(node.self_weight for node in nodes) == found.total
        merged = sum(node.merged for node in nodes)
        assert merged == len(found.tree) - sum(not node.merged for node in nodes[1:])
        assert (f"{merged:,} smaller ones are merged" in " ".join(flames["graphs"][0]["notes"])) == (merged > 0)
    assert merged == 0  # all of them fit a page of their own


def test_a_frame_that_is_compiled_in_one_place_and_interpreted_in_another_has_both_kinds() -> None:
    stacks: Stacks = {("main", "hot"): 5, ("main", "cold"): 7}
    flames, nodes = shown(profile_of(stacks, kinds={"hot": "c1", "cold": "kernel"}), 10**6)
    kinds = dict(zip(flames["frames"]["names"], flames["frames"]["kinds"], strict=True))
    assert {name: kinds[name] for name in ("main", "hot", "cold")} == {"main": "a", "hot": "d", "cold": "g"}
    assert [node.path[-1] for node in nodes] == ["all", "main", "cold", "hot"]


def test_no_name_hides_characters_or_turns_the_text_around() -> None:
    assert visible("a\u202eb\u2066c\x1b[31m\n\u2028\ud800") == "a\\u202eb\\u2066c\\u001b[31m\\u000a\\u2028\\ud800"
    assert visible("größer.日本") == "größer.日本"
    worst = "</script>\u202e<" * 200
    flames, _ = shown(profile_of({(f"{worst}{i}", worst): i for i in range(300)}), 50_000)
    assert len(script_safe_json(flames).encode()) <= 50_000
    assert "</script" not in script_safe_json(flames)


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_numbers_are_packed_seven_bits_a_byte(values: list[int]) -> None:
    found, value, shift = [], 0, 0
    for byte in leb128(np.array(values, np.int64)):
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            found.append(value)
            value, shift = 0, 0
    assert found == values


def test_an_empty_profile_is_a_root_alone() -> None:
    _, nodes = shown(profile_of({}), 10**6)
    assert nodes == [Node(("all",), 0, 0, 0)]
