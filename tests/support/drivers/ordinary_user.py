"""Creates an ordinary user of this machine for a test, who can run headway, and removes the user afterwards."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNUSER = shutil.which("runuser", path="/usr/sbin:/sbin:/usr/bin:/bin") or "runuser"
SOURCES = Path(__file__).resolve().parents[3] / "src"


@dataclass(frozen=True)
class OrdinaryUser:
    """A user without privileges. `home` is below /tmp; `python` runs headway from these sources."""

    name: str
    uid: int
    gid: int
    home: Path
    python: str
    env: dict[str, str]

    def argv(self, arguments: Sequence[str]) -> list[str]:
        """Return the command line that runs `arguments` as this user, without any capability.

        Not runuser, which stays as the parent: killed, it would leave the command behind.
        """
        ids = [f"--reuid={self.uid}", f"--regid={self.gid}", "--init-groups", "--inh-caps=-all"]
        return ["setpriv", *ids, "--", *arguments]

    def run(self, arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command in the user's home and return its output; it has four minutes."""
        env = {**self.env, **options.pop("env", {})}
        return subprocess.run(
            self.argv(arguments),
            env=env,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=options.pop("timeout", 240),
            **options,
        )

    def headway(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a headway command as this user."""
        return self.run([self.python, "-m", "headway", *arguments], **options)


def _site_packages() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages")]


def _runs(argv: Sequence[str], env: dict[str, str]) -> bool:
    return subprocess.run(argv, env=env, capture_output=True, cwd="/").returncode == 0


def _python_for(name: str, home: Path, env: dict[str, str]) -> str:
    """Find a Python of this version that the user may execute: root's own often lies below /root."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    needs = "import sys, click, numpy, pyarrow, duckdb, headway; assert sys.version_info[:2] == " + repr(
        sys.version_info[:2]
    )
    for candidate in (
        sys.executable,
        f"/usr/bin/python{version}",
        f"/usr/local/bin/python{version}",
        "/usr/bin/python3",
    ):
        if os.path.exists(candidate) and _runs([RUNUSER, "-u", name, "--", candidate, "-c", needs], env):
            return candidate
    # Last resort: a copy of the interpreter, its library and its packages, where the user can read them.
    copy = home / "python"
    unwanted = shutil.ignore_patterns("site-packages", "test", "__pycache__", "*.a", "idlelib", "share")
    shutil.copytree(sys.base_prefix, copy, ignore=unwanted, symlinks=True)
    places = []
    for number, place in enumerate([str(SOURCES), *_site_packages()]):
        places.append(str(shutil.copytree(place, home / f"packages-{number}", symlinks=True)))
    env.update(PYTHONHOME=str(copy), PYTHONPATH=os.pathsep.join(places))
    return str(copy / "bin" / f"python{version}")


@contextmanager
def ordinary_user() -> Iterator[OrdinaryUser]:
    """Create a user with a home below /tmp, and remove both at the end. Needs root."""
    name = f"hwtest-{secrets.token_hex(3)}"
    home = Path("/tmp") / name
    subprocess.run(["useradd", "--no-create-home", "--home-dir", str(home), "--shell", "/bin/sh", name], check=True)
    try:
        home.mkdir(mode=0o755)
        uid, gid = (int(subprocess.check_output(["id", flag, name])) for flag in ("-u", "-g"))
        os.chown(home, uid, gid)
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([str(SOURCES), *_site_packages()]),
        }
        python = _python_for(name, home, env)
        yield OrdinaryUser(name, uid, gid, home, python, env)
    finally:
        shutil.rmtree(home, ignore_errors=True)
        _remove(name)


def _remove(name: str) -> None:
    """Remove the user. userdel refuses for a moment while a process of theirs is still ending, or the file is locked."""
    deadline = time.monotonic() + 100
    while True:
        done = subprocess.run(["userdel", name], capture_output=True, text=True)
        if done.returncode == 0:
            return
        assert time.monotonic() < deadline, f"{name} can't be removed: {done.stderr}"
        time.sleep(0.1)
