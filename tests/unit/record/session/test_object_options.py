"""What --objects takes."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from headway.cli.recording import _objects
from headway.record.request.jvm_options import agent_options
from headway.record.request.objects import ObjectOptions, parse


@pytest.mark.parametrize(
    ("text", "interval_bytes", "sites"),
    [
        ("allocations", 0, False),
        ("allocations,sites", 0, True),
        ("allocations=512k", 512 << 10, True),
        ("allocations=1M,sites", 1 << 20, True),
        ("allocations=65536", 65536, True),
    ],
)
def test_what_is_asked_for_is_an_interval_and_whether_sites_are_taken(
    text: str, interval_bytes: int, sites: bool
) -> None:
    assert parse(text) == ObjectOptions(interval_bytes, sites)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("accesses=3", "write allocations"),
        ("accesses,sites", "write allocations"),
        ("accesses,owners,sites", "write allocations"),
        ("allocs", "write allocations"),
        ("", "write allocations"),
        ("allocations,lines", "write allocations"),
        ("allocations=", "no number of bytes"),
        ("allocations=-1", "no number of bytes"),
        ("allocations=5x", "no number of bytes"),
        ("allocations=2g", "less than 2g"),
        ("allocations=0", "every object is --objects allocations"),
        ("allocations=0k,sites", "every object is --objects allocations"),
    ],
)
def test_anything_else_is_refused_with_what_is_taken(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


def test_accesses_have_a_scope_of_globs() -> None:
    assert parse("accesses") == ObjectOptions(None, accesses=True)
    assert parse("accesses", ("com.acme.*", "a.B$C")).scope == ("com.acme.*", "a.B$C")
    for glob in ("", "a b", "com/acme", "a:b", "a,b"):
        with pytest.raises(ValueError, match="no name of classes"):
            parse("accesses", (glob,))
    with pytest.raises(ValueError, match="about accesses"):
        parse("allocations", ("com.acme.*",))


def test_the_agent_is_told(tmp_path: Path) -> None:
    assert agent_options(tmp_path, objects=parse("allocations")).endswith(",objects=0")
    assert agent_options(tmp_path, objects=parse("allocations=4k")).endswith(",objects=4096,object_sites=1")
    assert "objects" not in agent_options(tmp_path)
    assert agent_options(tmp_path, objects=parse("accesses")).endswith(",accesses=1")
    asked = agent_options(tmp_path, objects=parse("accesses", ("com.acme.*", "é")))
    assert asked.endswith(",accesses=1,access_scope=com.acme.%2A:%C3%A9")


def test_owners_are_asked_for_with_accesses_only() -> None:
    asked = parse("accesses,owners", ("com.acme.*",))
    assert asked == ObjectOptions(None, accesses=True, scope=("com.acme.*",), owners=("allocator",))
    assert asked.as_json()["owners"] == ["allocator"]
    assert asked.agent_parts == ["accesses=1", "access_owners=1"]
    assert "owners" not in parse("accesses").as_json()


@pytest.mark.parametrize(
    ("rules", "parts"),
    [
        ("allocator", ["access_owners=1"]),
        ("last-writer", ["access_writers=1"]),
        ("allocator,last-writer", ["access_owners=1", "access_writers=1"]),
        ("last-writer, allocator", ["access_owners=1", "access_writers=1"]),
    ],
)
def test_owners_are_by_the_rules_that_are_named(rules: str, parts: list[str]) -> None:
    assert parse("accesses", owner=rules).agent_parts == ["accesses=1", *parts]


def test_owners_of_accesses_are_by_the_allocator_beside_the_rule_that_is_named() -> None:
    assert parse("accesses,owners", owner="last-writer").owners == ("allocator", "last-writer")
    assert parse("accesses,owners", owner="allocator").owners == ("allocator",)


@pytest.mark.parametrize("rules", ["", "writer", "allocator,", "allocator;last-writer"])
def test_other_rules_of_owners_are_refused_with_those_that_there_are(rules: str) -> None:
    with pytest.raises(ValueError, match="write allocator, last-writer, or both"):
        parse("accesses", owner=rules)
    with pytest.raises(ValueError, match="--owner is about accesses"):
        parse("allocations", owner=rules)


@pytest.mark.parametrize(
    ("objects", "windows", "says"),
    [
        ("accesses", "300", "--windows '300': write how long"),
        ("allocations", "300ms/60s", "--windows is about accesses"),
        ("nonsense", None, "--objects "),
        (None, "300ms/60s", "--windows is about accesses"),
    ],
)
def test_wrong_usage_names_the_option_that_is_wrong(objects: str | None, windows: str | None, says: str) -> None:
    asked = {"objects": objects, "windows": windows, "object_scope": (), "owner": None, "no_agent": False}
    with pytest.raises(click.UsageError) as refused:
        _objects(asked, None)
    assert refused.value.message.startswith(says)
