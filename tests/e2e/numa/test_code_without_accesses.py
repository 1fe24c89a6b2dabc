"""Methods of the JDK that are said to access nothing have no instruction that does, in the class files of each JDK.

The oracle is javap, which lists the instructions of each method. Native methods have none: for them the list is taken as it is.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from headway.analyses.numa.code_without_accesses import METHODS, accesses_nothing
from support.drivers.workloads import JAVAS, compile_java

ACCESS = re.compile(r"^\s*\d+: ((?:get|put)field|[abcdfils]a(?:load|store)|multianewarray)\b", re.MULTILINE)
"""Static fields are no object's. Who makes an array puts elements in it by instructions of the first kinds."""
METHOD = re.compile(r"^  [^\n]*?([\w$.<>]+)\([^\n]*\)[^\n]*;$", re.MULTILINE)
PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "ClassFiles.java"


@pytest.fixture(scope="module", params=JAVAS)
def code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Return of each class, by the names of its methods, what javap prints of all that are called so."""
    folder = tmp_path_factory.mktemp("classes")
    compile_java(folder, PROGRAM)
    names = sorted({*METHODS, "java.util.HashMap", "java.lang.Integer", "java.lang.String"})
    subprocess.run([JAVAS[request.param], "-cp", folder, "ClassFiles", folder, *names], check=True)
    files = [folder / f"{name.replace('.', '/')}.class" for name in names]
    javap = [str(JAVAS["jdk17"].with_name("javap")), "-J-XX:TieredStopAtLevel=1", "-c", "-p", *map(str, files)]
    listed = subprocess.run(javap, check=True, capture_output=True, text=True).stdout
    classes = re.split(r"^}$", listed, flags=re.MULTILINE)[:-1]
    return dict(zip(names, map(by_method, classes), strict=True))


def by_method(listed: str) -> dict[str, str]:
    """Return what javap prints of one class, by the names of its methods."""
    found: dict[str, str] = defaultdict(str)
    begins = list(METHOD.finditer(listed))
    for begin, after in itertools.zip_longest(begins, begins[1:]):
        name = "<init>" if "." in begin[1] else begin[1]
        found[name] += listed[begin.start() : after.start() if after else len(listed)]
    return found


def test_methods_that_access_nothing_have_no_instruction_that_does(code: dict[str, dict[str, str]]) -> None:
    wrong = {
        f"{name}.{method}"
        for name, methods in METHODS.items()
        for method in methods
        if ACCESS.search(code[name].get(method, ""))
    }
    assert not wrong


def test_each_of_them_is_there_on_one_jdk_at_least(code: dict[str, dict[str, str]]) -> None:
    """What is in one JDK only: names of native methods that JDK 25 has beside the Java methods."""
    missing = {
        f"{name}.{method}" for name, methods in METHODS.items() for method in methods if method not in code[name]
    }
    newer = {f"java.lang.Thread.{name}" for name in ("currentCarrierThread", "sleep0", "sleepNanos0", "yield0")}
    assert missing <= newer | {
        "java.lang.Object.wait0",
        "sun.misc.Unsafe.loadLoadFence",
        "sun.misc.Unsafe.storeStoreFence",
    }


def test_methods_that_access_something_are_found_by_the_same_rule(code: dict[str, dict[str, str]]) -> None:
    for name, method in (
        ("Integer", "intValue"),
        ("Integer", "hashCode"),
        ("String", "hashCode"),
        ("String", "isLatin1"),
    ):
        assert ACCESS.search(code[f"java.lang.{name}"][method])
        assert not accesses_nothing(f"java.lang.{name}", method)
    assert ACCESS.search(code["java.util.HashMap"]["getNode"])
    for method in ("copyMemory", "getReference", "getAndAddInt", "compareAndSetReference"):
        assert not accesses_nothing("jdk.internal.misc.Unsafe", method)
    assert not accesses_nothing("java.lang.System", "arraycopy")
    assert not accesses_nothing("java.lang.Object", "clone")
