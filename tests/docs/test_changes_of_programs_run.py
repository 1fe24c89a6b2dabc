"""The commands of compare-cores.md that change locks, sleeps, pools, permits and the like are run on a program of their names."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from docs_blocks import ROOT, blocks

from support.drivers.busy_machine import AHEAD, TRIES

pytestmark = [pytest.mark.root]
PAGE = ROOT / "docs" / "how-to" / "compare-cores.md"
HERE = str(Path(__file__).relative_to(ROOT))
OF_A_BUSY_MACHINE = ("HW822", "HW823", "HW839", "HW851", "HW858", "HW870", "HW878")
"""Reasons to predict nothing where other processes have the cores: names that are not in the recording are refused before."""
PREDICTED = re.compile(r"speedup +limited by")
REFUSED = re.compile(r"^Warnings .*\n(HW\d+)", re.MULTILINE)
"""The head of the table of predictions; why there is none, which is the first warning."""
SOURCES = {
    "Cache": (
        42,
        """
class Cache implements Runnable {
  static final java.util.concurrent.locks.ReentrantLock LOCK = new java.util.concurrent.locks.ReentrantLock();
  public void run() { for (int i = 0; i < 8; i++) { get(); Parser.parse(10); } }
  void get() {
    LOCK.lock(); // HERE
    try { Poller.rest(10); } finally { LOCK.unlock(); }
  }
}
""",
    ),
    "Poller": (
        8,
        """
class Poller implements Runnable {
  static void rest(int millis) {
    try { Thread.sleep(millis); } catch (InterruptedException e) { throw new IllegalStateException(e); }
  }
  public void run() {
    for (int i = 0; i < 8; i++) {
      try { Thread.sleep(20); } catch (InterruptedException e) { throw new IllegalStateException(e); } // HERE
    }
  }
}
""",
    ),
    "Parser": (
        6,
        """
class Parser implements Runnable {
  static volatile double sink;
  static void parse(int millions) {
    double sum = 0;
    for (int i = 1; i < millions * 10_000; i++) sum += Math.sqrt(i); // HERE
    sink = sum;
  }
  public void run() { for (int i = 0; i < 100; i++) parse(100); }
}
""",
    ),
    "Reader": (
        12,
        """
class Reader implements Runnable {
  static final java.util.concurrent.BlockingQueue<Integer> QUEUE = new java.util.concurrent.ArrayBlockingQueue<>(1);
  public void run() {
    try {
      for (int i = 0; i < 12; i++) QUEUE.put(i); // HERE
    } catch (InterruptedException e) { throw new IllegalStateException(e); }
  }
  static void drain() {
    try {
      for (int i = 0; i < 12; i++) { QUEUE.take(); Poller.rest(10); }
    } catch (InterruptedException e) { throw new IllegalStateException(e); }
  }
}
""",
    ),
    "Store": (
        20,
        """
class Store implements Runnable {
  static final java.util.concurrent.Semaphore CONNECTIONS = new java.util.concurrent.Semaphore(1);
  public void run() { for (int i = 0; i < 8; i++) borrow(); }
  void borrow() {
    CONNECTIONS.acquireUninterruptibly(); // HERE
    try { Poller.rest(10); } finally { CONNECTIONS.release(); }
  }
}
""",
    ),
    "Frame": (
        30,
        """
class Frame implements Runnable {
  static final java.util.concurrent.CyclicBarrier BARRIER = new java.util.concurrent.CyclicBarrier(2);
  final int millis;
  Frame(int millis) { this.millis = millis; }
  public void run() { for (int i = 0; i < 5; i++) render(); }
  void render() {
    Poller.rest(millis);
    try {
      BARRIER.await(); // HERE
    } catch (InterruptedException | java.util.concurrent.BrokenBarrierException e) { throw new IllegalStateException(e); }
  }
}
""",
    ),
    "App": (
        20,
        """
public class App {
  static void all(Runnable... parts) throws InterruptedException {
    Thread[] threads = new Thread[parts.length];
    for (int i = 0; i < parts.length; i++) { threads[i] = new Thread(parts[i], "part-" + i); threads[i].start(); }
    for (Thread each : threads) each.join();
  }
  public static void main(String[] args) throws Exception {
    all(new Cache(), new Cache());
    all(new Poller(), new Parser());
    all(new Reader(), Reader::drain);
    all(new Store(), new Store());
    all(new Frame(30), new Frame(10));
    java.util.concurrent.ExecutorService pool = java.util.concurrent.Executors.newFixedThreadPool(4);
    java.util.List<java.util.concurrent.Future<?>> all = new java.util.ArrayList<>();
    for (int i = 0; i < 8; i++) { all.add(pool.submit(() -> Poller.rest(20))); Poller.rest(15); }
    for (java.util.concurrent.Future<?> each : all) each.get(); // HERE
    pool.shutdown();
  }
}
""",
    ),
}
"""The page's program, by class: the number of the line that has HERE, and its text."""


def source(line: int, text: str) -> str:
    """Return a class of the package com.acme in whose file the line with HERE has a number."""
    before = text.splitlines().index(next(each for each in text.splitlines() if "// HERE" in each))
    return "package com.acme;" + "\n" * (line - 1 - before) + text.removesuffix("\n") + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the program as app.jar."""
    folder = tmp_path_factory.mktemp("acme")
    for name, (line, text) in SOURCES.items():
        (folder / f"{name}.java").write_text(source(line, text), encoding="utf-8")
    subprocess.run(["javac", "-d", "classes", *(f"{name}.java" for name in SOURCES)], cwd=folder, check=True)
    jar = ["jar", "--create", "--file", "app.jar", "--main-class", "com.acme.App", "-C", "classes", "."]
    subprocess.run(jar, cwd=folder, check=True)
    return folder


def is_predicted(command: str, folder: Path) -> bool:
    """Run a command of the page ahead of other programs; return whether it predicts something, and check why it does not."""
    path = f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, **AHEAD
    )
    said = f"{command}\n{(done.stdout + done.stderr)[-3000:]}"
    if done.returncode:
        assert "whatif" in command, said
        assert done.returncode == 1, said
        assert done.stderr.startswith(OF_A_BUSY_MACHINE), said
        return False
    if "whatif" not in command or PREDICTED.search(done.stdout) is not None:
        return "whatif" in command
    reason = REFUSED.search(done.stdout)
    assert reason is not None, said
    assert reason[1] in OF_A_BUSY_MACHINE, said
    return False


def test_every_change_that_the_page_asks_for_is_known_and_predicted_or_refused_for_a_busy_machine(folder: Path) -> None:
    commands = [line for block in blocks(PAGE) if block.run_by == HERE for line in block.text.splitlines() if line]
    assert sum("whatif" in each for each in commands) == 10
    predicted: set[str] = set()
    for attempt in range(TRIES):
        again = " --force" if attempt else ""
        predicted |= {
            each for each in commands if is_predicted(each.replace("headway record", f"headway record{again}"), folder)
        }
        if predicted:
            break
    assert predicted, "the page's program can't be replayed"
