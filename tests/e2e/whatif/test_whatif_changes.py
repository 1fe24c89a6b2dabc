"""`headway whatif` of real programs whose sleeps and methods are really changed then, by a parameter."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.drivers.recording_cli import JAVA_17, headway

pytestmark = [pytest.mark.root]
PROGRAM = """
public class Changes {
  static volatile double sink;
  static long slept;

  static void rest(long millis) throws Exception {
    long begin = System.nanoTime();
    Thread.sleep(millis);
    slept += System.nanoTime() - begin;
  }

  static void parse(int n) { double sum = 0; for (int i = 1; i < n; i++) sum += Math.sqrt(i); sink = sum; }

  public static void main(String[] args) throws Exception {
    for (int i = 0; i < 10; i++) { rest(Long.parseLong(args[0])); parse(200_000); }
    for (int i = 0; i < 200; i++) parse(Integer.parseInt(args[1]));
    System.out.println(slept);
  }
}
"""
NOT_KNOWN = ("HW822", "HW823", "HW851", "HW858", "HW870", "HW878", "HW883")
"""A machine that is very busy may leave samples out, or the replay differ from the run: then nothing is predicted."""
Recorded = Callable[..., tuple[Path, int]]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Return what records the program: with what is sampled, how long it sleeps, in ms, and how much it computes."""
    folder = tmp_path_factory.mktemp("changes")
    (folder / "Changes.java").write_text(PROGRAM)
    subprocess.run([Path(JAVA_17).with_name("javac"), "-d", folder, folder / "Changes.java"], check=True)

    def run(samples: str, millis: int, work: int) -> tuple[Path, int]:
        path = folder / f"{millis}-{work}.headway"
        words = [JAVA_17, "-cp", folder, "Changes", millis, work]
        done = headway("record", "--sample", samples, "-o", path, "--", *words)
        assert done.returncode == 0, done.stderr
        return path, int(done.stdout.split()[0])

    return run


def asked(path: Path, *words: str) -> dict[str, Any]:
    """Return what whatif says; skip the test where it refuses for a reason that a busy machine may be."""
    done = headway("whatif", path, *words, "--json")
    if done.returncode:
        assert any(each in done.stderr for each in NOT_KNOWN), done.stderr
        pytest.skip(f"a busy machine: {done.stderr.splitlines()[0]}")
    found: dict[str, Any] = json.loads(done.stdout)
    if found["refused"] is not None:
        assert found["refused"]["id"] in NOT_KNOWN, found["refused"]
        pytest.skip(f"a busy machine: {found['refused']}")
    return found


def assert_nearer_to_the_changed_run(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Compare with the quiet run that had the change: how near exactly hangs on what else the machine does."""
    predicted = before["changes"][0]["wall_ns"]
    unchanged, changed = (each["recordings"][0]["quiet_ns"] for each in (before, after))
    assert abs(predicted - changed) < abs(predicted - unchanged), (predicted, changed, unchanged)


def test_shorter_sleeps_save_what_the_program_slept_in_them(record: Recorded) -> None:
    path, slept_ns = record("wall:5ms", 100, 1)
    shorter, _ = record("wall:5ms", 10, 1)
    before, after = asked(path, "--no-sleep", "Changes.rest=0.01"), asked(shorter, "--clock", "1.0", "--no-gc")
    (change,) = before["changes"]
    saved_ns = before["recordings"][0]["quiet_ns"] - change["wall_ns"]
    assert 0.5 * 10 * 90e6 < saved_ns <= slept_ns - 10 * 10e6
    assert_nearer_to_the_changed_run(before, after)


def test_a_faster_method_saves_what_the_program_computed_in_it(record: Recorded) -> None:
    path, _ = record("cpu:2ms", 0, 2_000_000)
    faster, _ = record("cpu:2ms", 0, 200_000)
    before, after = asked(path, "--faster", "Changes.parse=10%"), asked(faster, "--clock", "1.0", "--no-gc")
    assert_nearer_to_the_changed_run(before, after)


TALKS = """
import java.io.*;
import java.net.*;

public class Talks {
  static volatile double sink;

  static void answer(Socket client, int work) {
    try (InputStream in = client.getInputStream(); OutputStream out = client.getOutputStream()) {
      for (int asked = in.read(); asked >= 0; asked = in.read()) {
        double sum = 0;
        for (int i = 1; i < work; i++) sum += Math.sqrt(i);
        sink = sum;
        out.write(asked);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static void main(String[] args) throws Exception {
    ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    Thread server = new Thread(() -> {
      try { answer(listening.accept(), Integer.parseInt(args[0])); } catch (IOException e) { throw new UncheckedIOException(e); }
    });
    server.start();
    try (Socket socket = new Socket(listening.getInetAddress(), listening.getLocalPort())) {
      for (int i = 0; i < 300; i++) {
        socket.getOutputStream().write(1);
        if (socket.getInputStream().read() != 1) throw new IllegalStateException();
      }
    }
    server.join();
  }
}
"""


def test_a_client_in_the_same_program_gets_its_answers_as_much_earlier_as_the_server_computes_faster(
    tmp_path: Path,
) -> None:
    """One of both computes at any time: on a clock four times as fast they take a fourth, not the time of the client's reads."""
    (tmp_path / "Talks.java").write_text(TALKS)
    subprocess.run([Path(JAVA_17).with_name("javac"), "-d", tmp_path, tmp_path / "Talks.java"], check=True)
    path = tmp_path / "talks.headway"
    done = headway("record", "-o", path, "--", JAVA_17, "-cp", tmp_path, "Talks", 2_000_000)
    assert done.returncode == 0, done.stderr
    found = asked(path, "--clock", "4")
    (change,) = found["changes"]
    assert "HW869" not in {each["id"] for each in found["warnings"]}
    assert change["speedup"] > 2.5
