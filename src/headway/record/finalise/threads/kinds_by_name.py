"""Classifies threads by name (application, GC, JIT, VM): HotSpot names its own threads alike from JDK 17 to 25.

The kernel keeps 15 bytes of a name. HotSpot up to JDK 20 cuts a longer one off ("C2 CompilerThre"), later ones leave out its
middle ("C2 Comp..hread0"); so the patterns below hold for both and for the whole name.

With Serial GC the VM Thread itself collects, with every collector it runs the pauses' single-threaded parts: its kind is
`vm`, and what it runs in pauses counts as `gc` (record/finalise/collections.py).
"""

from __future__ import annotations

import re

from headway.model import Kind

_GC = re.compile(
    r"GC Thread#|ParGC |Gang worker|G1 (?:Main Marker|Conc#|Refine#|Service|Young RemSe)|ParallelGC"
    r"|[ZX](?:Driver|Director|Stat|Worker|Uncommitter|Uncommi\.\.|Unmapper)|RuntimeWorker#|Runtime\.\.ker#"
    r"|Shenandoah|Shenand\.\.|StringDedup|StringD\.\.|StrDedup|String Dedupl"
)
_JIT = re.compile(r"C[12] Comp|JVMCI|Graal|libgraal|Sweeper thread|Code Cache Swee|Compiler Thread")
_VM = re.compile(
    r"VM Thread$|VM Peri|Signal Disp|Signal \.\.|Finalizer$|Reference Hand|Referen\.\.|Common-Cleaner$|Common-\.\."
    r"|Service Thread$|Monitor Defl|Monitor\.\.Thread|Notification T|Notific\.\.|Attach Listener$|JFR |JDWP |AsyncLog"
    r"|VirtualThread-un|Virtual\.\.(?:parker|locker)|(?:Read|Write)-(?:Poller|Updater)|MasterPoller|VM JFR"
)
_SYSTEM_GROUPS = {"system", "InnocuousThreadGroup", "VirtualThreads"}
_OWN_NAMES = ("headway", "Async-profiler")
"""headway's own threads, and those that async-profiler makes: in the JVM's own group only where headway started it."""


def kind_of_native(comm: str, in_jvm: bool) -> Kind:
    """Return the kind of a thread that no agent announced, by its kernel name."""
    if not in_jvm:
        return Kind.APP
    if comm.startswith(_OWN_NAMES[0]):
        return Kind.HEADWAY
    for kind, pattern in ((Kind.GC, _GC), (Kind.JIT, _JIT), (Kind.VM, _VM)):
        if pattern.match(comm):
            return kind
    return Kind.APP


def kind_of_java(name: str, group: str, is_carrier: bool) -> Kind:
    """Return the kind of a Java thread, by its thread group: programs may name their own threads like a JVM's."""
    if is_carrier:
        return Kind.CARRIER
    if group in _SYSTEM_GROUPS:
        if name.startswith(_OWN_NAMES):
            return Kind.HEADWAY
        return Kind.VM if _VM.match(name) else kind_of_native(name, in_jvm=True)
    return Kind.APP


def is_jvm_thread(comm: str) -> bool:
    """Return whether only HotSpot JVMs have threads of this name, which detects JVMs without an agent."""
    return comm == "VM Thread" or comm.startswith("VM Peri")
