"""Names of classes and objects that threads wait for, as people read them, and whether a class is the JDK's or a proxy."""

from __future__ import annotations

import re
from functools import lru_cache

_JDK = re.compile(r"(java|javax|jdk|sun|com\.sun)\.")
_DISPATCH = re.compile(r"(groovy\.lang|org\.codehaus\.groovy\.(vmplugin|runtime|reflection)|scala\.runtime)\.")
SLEEP = "java.lang.Thread.sleep"
"""What virtual threads that sleep are said to wait for; there is no object of that name."""
TOGETHER = " (together)"
"""Behind the name of a class whose objects are not told apart."""
MANY_CLASSES = "objects of many classes"
"""What objects are called that share a row though their classes differ: there are too many of both."""
CLASS_INITIALISATION = "class initialisation"
"""What the agent calls the JVM's own locks of classes, instead of int[]; mostly followed by "for" and a class."""
OF_CLASS = ".class"
"""How the agent ends the name of an object that stands for a class, which static synchronized methods lock: acme.Store.class."""


def simple(class_name: str) -> str:
    """Return a class name without its package: AbstractQueuedSynchronizer$ConditionObject, Store.class."""
    name = class_name.split("/", 1)[0]
    of_class = OF_CLASS if name.endswith(OF_CLASS) else ""
    return name.removesuffix(of_class).rpartition(".")[2] + of_class


def display(class_name: str, identity_hash: int, is_rest: bool = False) -> str:
    """Return an object's name for people: ReentrantLock@1f2e3d, without implementation classes such as NonfairSync.

    `is_rest`: no object, but all of the class that are not told apart: short-lived ones, and forgotten ones.
    """
    if not class_name:  # a thread may park without naming an object
        return "LockSupport.park"
    if class_name == SLEEP:
        return "Thread.sleep"
    if class_name.startswith(CLASS_INITIALISATION):  # which object the JVM takes for its lock tells nobody anything
        return class_name
    name = _shown(class_name)
    if class_name.endswith(OF_CLASS):
        return name
    return f"{name}{TOGETHER}" if is_rest or not identity_hash else f"{name}@{identity_hash & 0xFFFFFFFF:x}"


@lru_cache(maxsize=1024)
def _shown(class_name: str) -> str:
    name = re.sub(r"\$(NonfairSync|FairSync|Sync)$", "", simple(class_name))
    return re.sub(r"^AbstractQueued(Long)?Synchronizer\$ConditionObject$", "Condition", name)


def is_jdk(class_name: str) -> bool:
    """Return whether a class belongs to the JDK."""
    return bool(_JDK.match(class_name))


def is_of_locks(class_name: str) -> bool:
    """Return whether a class is one of the JDK's locks: who calls it says more than its own lines."""
    return class_name.startswith("java.util.concurrent.locks.")


def is_proxy(class_name: str) -> bool:
    """Return whether a class only forwards calls: generated for a lambda, or a language's runtime."""
    return "$$Lambda" in class_name or bool(_DISPATCH.match(class_name))
