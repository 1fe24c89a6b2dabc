"""Detects commands that start the program in another root directory: chroot, containers.

There the agent's library has no path, and a JVM that JAVA_TOOL_OPTIONS tells to load a library that is not there does not
start. A JVM has no option that says "if it is there", and what a process will be can't be seen before its exec. So the
command is read, and the script that it starts, for the tools that do such a thing; what deeper scripts do is not known.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from headway.store.files import read_named

_TOOLS: dict[str, str] = {
    **dict.fromkeys(("chroot", "schroot", "proot", "bwrap", "systemd-nspawn", "firejail", "arch-chroot"), ""),
    **dict.fromkeys(("docker", "podman", "nerdctl", "runc", "crun", "lxc-execute", "lxc-attach"), ""),
    **dict.fromkeys(("singularity", "apptainer", "ch-run", "enroot", "flatpak-spawn", "toolbox", "distrobox"), ""),
    "unshare": r"-\w*R|--root",
    "nsenter": r"-\w*[amr]|--(all|mount|root)",
}
"""Programs that change the root, and the option with which they do so, if not always."""

_WORD = re.compile(r"[^\s;|&()`'\"<>]+")
_LONGEST_SCRIPT = 256 << 10


def changes_root(argv: Sequence[str], env: Mapping[str, str], cwd: Path | None = None) -> str | None:
    """Return the tool with which the command, or the script it starts, changes the root; None when none is seen."""
    for text in ("\n".join(argv), *_scripts(argv, env, cwd)):
        words: list[str] = _WORD.findall(text)
        for at, word in enumerate(words):
            tool = word.rpartition("/")[2]
            option = _TOOLS.get(tool)
            if option == "" or (option and any(re.match(option, each) for each in words[at + 1 : at + 12])):
                return tool
    return None


def _scripts(argv: Sequence[str], env: Mapping[str, str], cwd: Path | None) -> list[str]:
    """Return the text of the script that is the command, or the first argument of a shell."""
    texts = []
    for word in argv[:2]:
        found = shutil.which(word, path=env.get("PATH")) if "/" not in word else None
        file = Path(found) if found else (cwd or Path.cwd()) / word
        with contextlib.suppress(OSError, ValueError):
            content = read_named(file, _LONGEST_SCRIPT)
            if b"\0" not in content:  # else a program, not a script
                lines = content.decode(errors="replace").splitlines()
                texts.append("\n".join(line for line in lines if not line.lstrip().startswith("#")))
    return texts
