"""A package of somebody else's adds an analysis and a format: the one of docs/how-to/add-an-analysis.md, installed as it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.builders import recording_builder

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "how-to" / "add-an-analysis.md"
EXPORTER = """
from headway.report.output import new_file

class Names:
    name, suffix, summary, needs = "names", ".txt", "the names of threads", "recording"

    def write(self, source, path, *, overwrite=False):
        rows = source.recording.query("SELECT name FROM thread ORDER BY thread_id").fetchall()
        with new_file(path, overwrite=overwrite) as out:
            out.write("".join(f"{name}\\n" for (name,) in rows).encode())
        return path

NAMES = Names()
"""
MORE = """
broken = "headway_broken:NOTHING"
why = "headway_wakeups:WAKEUPS"

[project.entry-points."headway.exporters"]
names = "headway_names:NAMES"
"""


def code(language: str) -> str:
    """Return the one block of the page in a language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's package installed, and with one more analysis that can't be imported, and a format."""
    source, target = tmp_path_factory.mktemp("headway-wakeups"), tmp_path_factory.mktemp("installed")
    project = (
        code("toml").replace("[build-system]", f"{MORE}\n[build-system]").replace('dependencies = ["headway"]', "")
    )
    modules = 'py-modules = ["headway_wakeups", "headway_names"]'
    (source / "pyproject.toml").write_text(project.replace('py-modules = ["headway_wakeups"]', modules))
    (source / "headway_wakeups.py").write_text(code("python"))
    (source / "headway_names.py").write_text(EXPORTER)
    words = ("install", "--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--target")
    subprocess.run([sys.executable, "-m", "pip", *words, str(target), str(source)], check=True, timeout=120)
    return target


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "a.headway"
    return recording_builder.make(path, recording_builder.Shape(threads=4, slices=400))


def asked(packages: Path, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run headway beside the packages."""
    done = subprocess.run(
        [sys.executable, "-m", "headway", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(packages)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def counted(recording: Path) -> list[tuple[str, int]]:
    """Count wake-ups from the table's file, without headway."""
    import duckdb

    text = (
        f"SELECT t.name, count(*) FROM '{recording}/slice.parquet' s JOIN '{recording}/thread.parquet' t USING (thread_id) "
        "WHERE s.blocked_ticks > 0 GROUP BY thread_id, t.name ORDER BY 2 DESC, thread_id"
    )
    return duckdb.connect().execute(text).fetchall()


def test_its_command_is_listed_with_its_package_and_one_that_fails_says_so(packages: Path) -> None:
    words = " ".join(asked(packages, "--help").stdout.split())
    assert "Added by packages:" in words
    assert "wakeups Which threads wake up most often. (headway-wakeups)" in words
    assert (
        "broken HW510: broken, which the package headway-wakeups adds to headway, fails: ModuleNotFoundError" in words
    )


def test_it_answers_in_json_and_on_the_terminal(packages: Path, recording: Path) -> None:
    found = json.loads(asked(packages, "wakeups", recording, "--json").stdout)
    assert [(each["name"], each["wakeups"]) for each in found["threads"]] == counted(recording)
    shown = asked(packages, "wakeups", recording).stdout
    name, wakeups = counted(recording)[0]
    assert shown.startswith(f"* {name} woke up most often")
    assert re.search(rf"^{re.escape(name)} +{wakeups} ", shown, re.MULTILINE), shown


def test_it_is_a_section_of_the_report_and_one_that_fails_is_a_notice(
    packages: Path, recording: Path, tmp_path: Path
) -> None:
    page = tmp_path / "a.html"
    asked(packages, "report", recording, "-o", page)
    text = re.search(r'id="headway-payload">(.*?)</script>', page.read_text(), re.DOTALL)
    assert text is not None
    payload: dict[str, Any] = json.loads(text[1])
    (section,) = [each for each in payload["sections"] if each["package"] != "headway"]
    assert (section["name"], section["package"], section["title"]) == ("wakeups", "headway-wakeups", "Wake-ups")
    assert [(row[0], row[1]) for row in section["tables"][0]["rows"]] == counted(recording)[:20]
    assert "HW510" in {each["id"] for each in payload["notices"]}


def test_a_name_that_headway_has_itself_stays_headways(packages: Path, recording: Path) -> None:
    assert "core_ns" in json.loads(asked(packages, "why", recording, "--json").stdout)


def test_asking_for_one_that_fails_names_the_package(packages: Path, recording: Path) -> None:
    done = asked(packages, "broken", recording, code=1)
    assert done.stderr.startswith("HW510: broken, which the package headway-wakeups adds"), done.stderr
    assert "Traceback" not in done.stderr


def test_its_format_is_a_format_of_export(packages: Path, recording: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    asked(packages, "export", recording, "--format", "names", "-o", tmp_path / "names.txt")
    assert (tmp_path / "names.txt").read_text().split("\n")[:-1] == pq.read_table(recording / "thread.parquet")[
        "name"
    ].to_pylist()
