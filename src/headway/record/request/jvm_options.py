"""Passes the agent to the JVMs of a command: by its arguments, or by an environment variable.

A direct `java` command gets `-agentpath` as its first option, so that the JVM prints nothing. Anything else (a wrapper
script, a build tool, `javac`) gets `JAVA_TOOL_OPTIONS`: every JVM below it obeys, and each prints one line,
"Picked up JAVA_TOOL_OPTIONS: ...", on its standard error. That line is the JVM's own and can't be turned off.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import headway
from headway.errors import Notice
from headway.record.program.other_roots import changes_root
from headway.record.request.agent_copies import AgentCopy, is_open_to_all, shared_copy
from headway.record.request.objects import ObjectOptions
from headway.record.request.sampling import Sampler
from headway.store.directory import pinned, safe_to_load
from headway.store.files import open_named, read_named

TOOL_OPTIONS = "JAVA_TOOL_OPTIONS"
_DUMPS_CLASSES = re.compile(
    r"-Xshare:dump|-XX:ArchiveClassesAtExit=|-XX:\+AutoCreateSharedArchive|-XX:\+RecordDynamicDumpInfo"
)
"""Options with which a JVM makes a class-data archive, and refuses to run with a native agent."""
_DESCRIPTORS = Path("/proc/self/fd")
_LONGEST_ARGUMENTS_BYTES = 4 << 20
"""Of an argument file that is looked through for options."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-~+:@")


@dataclass(frozen=True, slots=True)
class LockOptions:
    """How to record locks: times from a blocker's `park_threshold`-th park on; collected objects may be dropped.

    `ask_owners`: at the end the JVM is asked who owns the monitors that are waited for, which stops it for moments.
    """

    park_threshold: int = 0
    forget_dead: bool = False
    ask_owners: bool = True


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A command as it will be started. `how` says where the agent's options were put."""

    argv: list[str]
    env: dict[str, str]
    how: Literal["arguments", "environment"]
    notices: list[Notice] = field(default_factory=list)
    copy: AgentCopy | None = None
    """Where the agent is a copy for this command: to be released once the command has ended."""


def agent_library() -> Path:
    """Return the path of the installed agent (which need not exist in a source tree that was not built)."""
    return Path(headway.__file__).resolve().parent / "libheadway_agent.so"


def encode_value(value: str) -> str:
    """Escape a value for the agent's option string: all but letters, digits and `/._-~+:@` becomes %XX (of UTF-8)."""
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(value))


def agent_options(
    spool_dir: Path,
    *,
    virtual_threads: bool = False,
    children: bool = False,
    processors: int = 0,
    locks: LockOptions | None = None,
    sampler: Sampler | None = None,
    causal: str | None = None,
    objects: ObjectOptions | None = None,
    opens_existing: bool = False,
) -> str:
    """Return the agent's option string; `spool_dir` is a path in the JVM's view of files (`directory_for_jvm`).

    `children` makes the agent hand itself on to child JVMs, `processors` (with it) their ActiveProcessorCount. `locks` None
    leaves locks alone, `sampler` None takes no stack samples, `causal` None makes no experiments (request/causal_spec.py),
    `objects` None leaves allocations and accesses alone.
    `opens_existing`: the recorder has made agent-PID.spool, empty, and the agent opens that one or none.
    """
    parts = [f"spool={encode_value(str(spool_dir))}"]
    if str(spool_dir).startswith("/proc/"):  # by then it may be another process's descriptor: the agent compares
        status = os.stat(spool_dir)
        parts.append(f"spool_is={status.st_dev}:{status.st_ino}")
    if virtual_threads:
        parts.append("vthreads=1")
    if children:
        parts.append("children=1")
    if processors:
        parts.append(f"processors={processors}")
    if locks is not None:
        parts.append("locks=1")
        parts += [f"park_threshold={locks.park_threshold}"] if locks.park_threshold else []
        parts += ["forget_dead=1"] if locks.forget_dead else []
        parts += [] if locks.ask_owners else ["no_owners=1"]
    if sampler is not None:
        parts += [f"sampler={encode_value(str(sampler.library))}", f"sample={encode_value(sampler.options.arguments)}"]
    if causal is not None:
        parts.append(f"causal={encode_value(causal)}")
    parts += objects.agent_parts if objects is not None else []
    if objects is not None and objects.scope:
        parts.append(f"access_scope={encode_value(':'.join(objects.scope))}")
    if opens_existing:
        parts.append("opens_existing=1")
    return ",".join(parts)


def plan_launch(
    argv: Sequence[str],
    env: Mapping[str, str],
    agent_path: Path | None,
    spool_dir: Path,
    *,
    virtual_threads: bool = False,
    jvm_processors: int | None = None,
    locks: LockOptions | None = None,
    sampler: Sampler | None = None,
    causal: str | None = None,
    objects: ObjectOptions | None = None,
    cwd: Path | None = None,
) -> LaunchPlan:
    """Return `argv` and `env` with the agent's options added.

    The command is looked up as exec would: in `env`'s PATH, relative to `cwd`. A command that can't be found is left to
    the launcher, whose error is better. `jvm_processors` adds -XX:ActiveProcessorCount. Without `agent_path` that is all.
    """
    processors = jvm_processors or 0
    java = find_java_launcher(argv[0], env, cwd) if argv else None
    direct = java is not None
    library, notices = _loadable(agent_path, java, argv, env, cwd)
    copy = _needed_copy(library, sampler, for_anyone=java is None) if library is not None else None
    if copy is not None and library is not None:
        library = copy.of(library)
        sampler = replace(sampler, library=copy.of(sampler.library)) if sampler is not None else None
    options = agent_options(
        directory_for_jvm(spool_dir),
        virtual_threads=virtual_threads,
        children=direct,
        processors=processors if direct else 0,
        locks=locks,
        sampler=sampler,
        causal=causal,
        objects=objects,
    )
    added = [f"-agentpath:{library}={options}"] if library is not None else []
    if processors:
        added.append(f"-XX:ActiveProcessorCount={processors}")
        notices += _overridden(argv, env, direct)
    if direct or not added:
        return LaunchPlan([*argv[:1], *added, *argv[1:]], dict(env), "arguments", notices, copy)
    return _plan_by_environment(argv, env, added, notices, copy)


def _plan_by_environment(
    argv: Sequence[str], env: Mapping[str, str], added: Sequence[str], notices: list[Notice], copy: AgentCopy | None
) -> LaunchPlan:
    """Return a plan in which the JVMs that a command starts find the options in JAVA_TOOL_OPTIONS."""
    if shutil.which(argv[0] if argv else "", path=env.get("PATH")) is not None:
        notices = [*notices, Notice.of("HW010", command=argv[0])]
    joined = " ".join(filter(None, [env.get(TOOL_OPTIONS, ""), *map(_quoted, added)]))
    return LaunchPlan(list(argv), {**env, TOOL_OPTIONS: joined}, "environment", notices, copy)


def _loadable(
    agent_path: Path | None, java: Path | None, argv: Sequence[str], env: Mapping[str, str], cwd: Path | None
) -> tuple[Path | None, list[Notice]]:
    """Return the agent's own path if the command's JVMs can load it, else None; and why not.

    `java`: the launcher that the command is, None for any other command.
    """
    if agent_path is None:
        return None, []
    library = agent_path.resolve()
    if dumping := _DUMPS_CLASSES.search(_visible_options(argv, env, cwd)):
        return None, [Notice.of("HW013", option=dumping[0])]
    if java is None and (tool := changes_root(argv, env, cwd)):
        return None, [Notice.of("HW014", tool=tool)]
    if java is not None and library.exists() and _platform(java) != _platform(library):
        # A JVM that can't load an agent it is told to load refuses to start.
        return None, [Notice.of("HW012", java=java)]
    return library, []


def _needed_copy(library: Path, sampler: Sampler | None, for_anyone: bool) -> AgentCopy | None:
    """Return a copy of the agent, and of the sampler, where the command's JVMs can't use the agent's own path.

    The JVM cuts `-agentpath:PATH=OPTIONS` at the first `=`, and JAVA_TOOL_OPTIONS knows no escapes for quotes.
    `for_anyone`: what root starts may become another user (su), whose JVMs refuse to start if they can't read the agent.
    """
    hidden = for_anyone and os.geteuid() == 0 and library.exists() and not is_open_to_all(library)
    if not hidden and not set("=\"'\n") & set(str(library)):
        return None
    return shared_copy([library, *([sampler.library] if sampler is not None else [])])


def find_java_launcher(command: str, env: Mapping[str, str], cwd: Path | None = None) -> Path | None:
    """Return the real path of `command` if it is a JDK's `java` launcher itself, else None.

    It is one when, symlinks followed, it is an ELF file called `java` with a libjvm beside it where the JDK has it.
    A script called `java` (jenv, asdf, sdkman shims) is not.
    """
    if os.sep in command:
        found: str | None = str((cwd or Path.cwd()) / command)
    else:
        found = shutil.which(command, path=env.get("PATH", os.defpath))
    if found is None:
        return None
    try:
        real = Path(found).resolve(strict=True)
        with open(open_named(real), "rb") as file:
            is_elf = file.read(4) == b"\x7fELF"
    except OSError:
        return None
    has_jvm = any((real.parent.parent / where).exists() for where in ("lib/server/libjvm.so", "lib/libjli.so"))
    return real if is_elf and real.name == "java" and has_jvm else None


def _visible_options(argv: Sequence[str], env: Mapping[str, str], cwd: Path | None) -> str:
    """Return what the JVM may take options from, as far as it can be seen: arguments, argument files, variables.

    Only ordinary files are read: what a pipe holds (`java @<(...)`) would then be missing for the JVM.
    """
    texts = [*argv[1:], *(env.get(name, "") for name in (TOOL_OPTIONS, "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"))]
    for argument in argv[1:]:
        file = (cwd or Path.cwd()) / argument[1:]
        if argument.startswith("@"):
            with contextlib.suppress(OSError):  # one that the launcher will complain about
                texts.append(read_named(file, _LONGEST_ARGUMENTS_BYTES).decode(errors="replace"))
    return "\n".join(texts)


def _platform(file: Path) -> tuple[bytes, bytes, bool]:
    """Return what an ELF file runs on: word size, machine, whether it needs musl."""
    data = file.read_bytes()
    return data[4:5], data[18:20], b"ld-musl-" in data or b"libc.musl-" in data


def _overridden(argv: Sequence[str], env: Mapping[str, str], direct: bool) -> list[Notice]:
    """Return the notice that another setting of the processor count comes later and wins, as far as that is visible."""
    flag = "-XX:ActiveProcessorCount"
    sources = {"_JAVA_OPTIONS": env.get("_JAVA_OPTIONS", ""), "JDK_JAVA_OPTIONS": env.get("JDK_JAVA_OPTIONS", "")}
    found = [name for name, value in sources.items() if flag in value]
    if any(argument.startswith(flag) for argument in argv[1:]):
        found.append("the command itself")
    return [Notice.of("HW011", where=" and ".join(found))] if found else []


def _quoted(option: str) -> str:
    """Quote for JAVA_TOOL_OPTIONS, which the JVM splits at white space outside quotes and which has no escapes."""
    if not any(c.isspace() for c in option) and not set("'\"") & set(option):
        return option
    return f'"{option}"' if '"' not in option else f"'{option}'"


def directory_for_jvm(directory: Path) -> Path:
    """Return the path under which a JVM of this user, with this view of files, reaches a directory that headway made.

    As root, below a directory where others could exchange it: through headway's own descriptor, for as long as headway lives.
    """
    pinned_path = directory if directory.is_relative_to(_DESCRIPTORS) else pinned(directory)
    if os.geteuid() != 0 or not pinned_path.is_relative_to(_DESCRIPTORS) or safe_to_load(directory):
        return directory.resolve()
    return Path(f"/proc/{os.getpid()}/fd") / pinned_path.relative_to(_DESCRIPTORS)
