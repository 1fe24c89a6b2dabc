"""Every command that a document tells people to run is run, in order, as a person would who copies it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest
from docs_blocks import ROOT, blocks, documents

from support.drivers import forked_headway

HERE = Path(__file__).resolve().parent
SHORT_MS, LONG_MS = 400, 3000
"""CPU time of the documents' application: enough for an answer of every command, and of those that ask while it runs."""
LONG = {"attach.md", "causal.md"}
STARTED = {"README.md", "first-recording.md"}
"""Pages whose `headway` is started anew for each command. For those of the others a process that has loaded it forks."""
# `make` is only asked what it would do: a document's `make test` would start this test again. What the targets do is
# tested by CI itself (setup, test), by tests/e2e (wheel, demo) and by the benchmarks' own runs.
PRELUDE = f"""
make() {{ command make -C {ROOT} -n "$@" >/dev/null; }}
folder=$PWD
"""


@pytest.fixture(scope="module")
def app_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app")
    subprocess.run(["javac", "-d", folder, HERE / "App.java"], check=True)
    subprocess.run(
        ["jar", "--create", "--file", folder / "app.jar", "--main-class", "App", "-C", folder, "."], check=True
    )
    return folder / "app.jar"


@pytest.mark.parametrize("page", documents(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_the_document_succeeds(page: Path, app_jar: Path, tmp_path: Path) -> None:
    (tmp_path / "app.jar").symlink_to(app_jar)
    script = [PRELUDE]
    for block in blocks(page):
        if not block.parse_only and not block.run_by:
            script.append(f'cd "{ROOT if block.in_repository else "$folder"}"\n{block.text}')
    ours = tmp_path / "bin"
    ours.mkdir()
    path = f"{ours}:{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}:/usr/sbin"
    cpu_ms = LONG_MS if page.name in LONG else SHORT_MS
    environment = {**os.environ, "PATH": path, "APP_CPU_MS": str(cpu_ms)}
    if page.name not in STARTED:
        forked_headway.command_in(ours, ROOT / ".venv" / "bin" / "headway", environment)
    process = subprocess.Popen(
        ["bash", "-eux", "-o", "pipefail", "-c", "\n".join(script)],
        cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=240)
    finally:
        # A document may leave a program running in the background, as its reader would.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output[-4000:]
