"""`headway whatif --pool` of a real program whose pool really has another number of workers then, by a parameter."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from e2e.whatif.test_whatif_changes import asked, assert_nearer_to_the_changed_run
from support.drivers.recording_cli import JAVA_17, headway

pytestmark = [pytest.mark.root]
PROGRAM = """
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Sleeps in 24 tasks, which come one after the other, or at once, and waits for the result of each. */
public class Pool {
  static void rest(int millis) {
    try { Thread.sleep(millis); } catch (InterruptedException e) { throw new IllegalStateException(e); }
  }

  public static void main(String[] args) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(Integer.parseInt(args[0]));
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < 24; i++) {
      rest(Integer.parseInt(args[1]));
      int millis = 20 + i % 3 * 20;
      all.add(pool.submit(() -> rest(millis)));
    }
    for (Future<?> each : all) each.get();
    pool.shutdown();
  }
}
"""
SLEPT_MS = 8 * (20 + 40 + 60)
"""All tasks together."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the compiled program."""
    folder = tmp_path_factory.mktemp("pools")
    (folder / "Pool.java").write_text(PROGRAM)
    subprocess.run([Path(JAVA_17).with_name("javac"), "-d", folder, folder / "Pool.java"], check=True)
    return folder


def recorded(folder: Path, workers: int, between: int) -> Path:
    """Record the program with so many workers, and tasks that come so many ms after each other."""
    path = folder / f"{workers}-{between}.headway"
    done = headway("record", "--locks", "-o", path, "--", JAVA_17, "-cp", folder, "Pool", workers, between)
    assert done.returncode == 0, done.stderr
    return path


def test_one_worker_instead_of_eight_takes_as_long_as_the_program_with_one_worker(program: Path) -> None:
    """What the tasks slept, one of them does alone: no run of it takes less."""
    before = asked(recorded(program, 8, 10), "--pool", "pool-1=1")
    after = asked(recorded(program, 1, 10), "--clock", "1.0", "--no-gc")
    assert before["changes"][0]["wall_ns"] > SLEPT_MS * 1e6
    assert_nearer_to_the_changed_run(before, after)


def test_six_workers_instead_of_two_take_as_long_as_the_program_with_six_workers(program: Path) -> None:
    """With two they are always busy; the results that the program waits for tell its tasks apart."""
    before, after = asked(recorded(program, 2, 0), "--pool", "pool-1=6"), asked(recorded(program, 6, 0), "--no-gc")
    assert_nearer_to_the_changed_run(before, after)
