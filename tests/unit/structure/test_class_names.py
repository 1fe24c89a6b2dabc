"""A class has a name of its own in the whole package, so that a reader who meets it knows which one is meant."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import headway

ROOT = Path(headway.__file__).parent


def test_no_two_classes_have_one_name() -> None:
    places = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 300
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
