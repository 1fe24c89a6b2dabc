"""The documents agree with the code: reference pages are what it gives, every command is documented and parses."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import click
import pytest
from docs_blocks import ROOT, Block, blocks, documents

from headway.cli.main import COMMANDS, cli

ALL_BLOCKS = [(page, block) for page in documents() for block in blocks(page)]
PROSE = "\n".join(block.text for _, block in ALL_BLOCKS)


def headway_lines(block: Block) -> list[list[str]]:
    """Return the arguments of each headway command in a block; what the shell would fill in is a number here."""
    found = []
    for line in block.text.replace("\\\n", " ").splitlines():
        plain = re.sub(r'"?\$(\([^)]*\)|!)"?', "1", line)
        words = shlex.split(plain.split(" > ")[0].split(" | ")[0], comments=True)
        if "headway" in words:
            found.append(words[words.index("headway") + 1 :])
    return found


def test_the_generated_reference_is_what_the_code_gives() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_reference.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_every_command_is_shown_in_use(name: str) -> None:
    assert re.search(rf"\bheadway {name}\b", PROSE), f"no document shows 'headway {name}' in an sh block"


@pytest.mark.parametrize(
    "block", [block for _, block in ALL_BLOCKS if block.parse_only], ids=lambda block: block.text[:40]
)
def test_commands_that_can_not_be_run_here_are_at_least_accepted_by_the_command_line(block: Block) -> None:
    lines = headway_lines(block)
    assert lines
    for words in lines:
        context = click.Context(cli, info_name="headway")
        command = cli.get_command(context, words[0])
        assert command is not None, words
        command.make_context(words[0], words[1:], parent=context)


def test_what_another_test_runs_is_run_by_a_test_that_is_there_and_reads_the_page() -> None:
    for page, block in ALL_BLOCKS:
        if block.run_by:
            assert page.name in (ROOT / block.run_by).read_text(encoding="utf-8"), f"{page.name}: {block.run_by}"


def test_every_link_between_documents_leads_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_benchmark_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "benchmarks.md").read_text(encoding="utf-8")
    for program in (ROOT / "benchmarks").glob("*.py"):
        if "def main" in program.read_text(encoding="utf-8") and program.name != "quick.py":
            assert f"python benchmarks/{program.name} --help" in page
