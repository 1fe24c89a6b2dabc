"""A Ctrl-C that a command caught does not end `python -m headway` by the signal afterwards."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import headway

CAUGHT = """
from headway.cli import main

def invoke():
    try:
        exec("raise KeyboardInterrupt")  # as it comes while a dataclass is made
    except KeyboardInterrupt:
        return 7

main.invoke = invoke
main.main()
"""


def test_a_ctrl_c_that_came_while_python_ran_a_text_leaves_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "caught.py").write_text(CAUGHT)
    ended = subprocess.run([sys.executable, "-m", "caught"], cwd=tmp_path, check=False, timeout=60)
    assert ended.returncode == 7


def test_a_ctrl_c_while_the_command_line_is_loaded_prints_no_traceback(tmp_path: Path) -> None:
    """What a command needs takes some tenths of a second to be loaded."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    words = [sys.executable, "-m", "headway", "--version"]
    ended = subprocess.run(words, cwd=tmp_path, check=False, timeout=60, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_the_command_begins_where_a_ctrl_c_is_caught() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["headway"] == "headway.__main__:main"


def test_what_takes_time_is_not_loaded_before_a_ctrl_c_is_caught() -> None:
    looks = (
        "import sys, headway; print({'importlib.metadata', 'pathlib', 'click'} & {*sys.modules}, headway.__version__)"
    )
    words = [
        sys.executable,
        "-S",
        "-c",
        f"import sys; sys.path[:0] = {[str(Path(headway.__file__).parents[1])]}; {looks}",
    ]
    ended = subprocess.run(words, check=True, timeout=60, capture_output=True, text=True)
    assert ended.stdout.startswith("set() ")
    assert headway.__version__ == version("headway")
