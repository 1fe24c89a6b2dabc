"""The roles of threads that wait for work (event loop, pool worker ...), decided by the stack that they wait in.

Question   a pool's worker without a task, an event loop, an accept loop, a timer: they lose nothing by waiting. Who are they?
Method     two tables. ROLES names the rules of waits.rules under which a thread waits for work or for its time to come.
           NATIVE has rules for what the JVM tells no wait of: calls that block in the kernel, told by the stack that the
           agent took of the thread while it stood there (table `waiting_stack`). A rule is a name, a role, and what has to be
           on the stack.
Assumes    a thread that stands in a native call near its run() is there again and again: one stack of it tells of all.
Wrong when a thread reads its peer's answer within three frames of run(), in a program that also accepts connections, and by no
           client of the JDK: that counts as waiting for a request.

To ask whether a block loses nothing: `IS_IDLE[sites.rule]` (by classification.sites), or `is_idle(rule)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from headway.analyses.waits.rules import RULES, Rule, Wait

NATIVE_STATE, SLEEP_STATE, WAIT_STATE, PARK_STATE = "native", "sleep", "wait", "park"
"""What a thread stood in when its stack was taken: the column `state` of the table `waiting_stack`."""

POOL_WORKER = "pool worker"
SELECTOR = "event loop"
ACCEPTOR = "accept loop"
CONNECTION = "connection"
READER = "reader of a stream"
CHILD = "waiting for a process"
TIMER = "timer"
CONSUMER = "consumer of a queue"
HELPER = "helper of the JDK"

ROLES: Mapping[str, str] = {
    **dict.fromkeys(("pool-worker", "fork-join-worker", "library-worker", "worker"), POOL_WORKER),
    **dict.fromkeys(("scheduled-delay", "timer", "periodic"), TIMER),
    "queue-consumer": CONSUMER,
    **dict.fromkeys(("references", "jdk-thread"), HELPER),
}
"""The role of who waits under a rule of waits.rules; under all others somebody inside the program is waited for."""

IS_IDLE = np.array([rule.id in ROLES for rule in RULES])
"""By the number of a rule in RULES (`Sites.rule`): the thread waits for work or its time: no contention, and nothing lost."""

OUTSIDE = frozenset({SELECTOR, ACCEPTOR, CONNECTION, READER, TIMER})
"""Roles that wait for work from outside of the program, or for a time to come."""


def is_idle(rule: Rule) -> bool:
    """Return whether waiting under a rule is idle: for work, or for a time."""
    return rule.id in ROLES


@dataclass(frozen=True, slots=True)
class NativeRule:
    """A rule for native calls in which threads wait for work: the role, and the frames that identify it."""

    id: str
    role: str
    frames: str
    only_near_run: bool = False


NATIVE: tuple[NativeRule, ...] = (
    NativeRule(
        "selector", SELECTOR, r"(\w*Selector(Impl)?\.(select\w*|doSelect|lockAndDoSelect))|(EPoll|KQueue|Port)\.\w+"
    ),
    NativeRule(
        "epoll", SELECTOR, r"Native\.(epollWait\w*|kqueueWait\w*|ioUringEnter)|EPollPort\$EventHandlerTask\.poll"
    ),
    NativeRule(
        "accept",
        ACCEPTOR,
        r"(?>\w*?Server)(?>\w*?Socket)\w*\.(accept\w*|implAccept\w*)|(Net|NioSocketImpl|Poll\w*SocketImpl)\.accept\w*",
    ),
    NativeRule("child", CHILD, r"Process(Handle)?Impl\.(waitFor\w*)"),
    NativeRule("stream", READER, r"(FileInputStream|FileChannelImpl|FileDispatcherImpl)\.read\w*", only_near_run=True),
    NativeRule("datagram", ACCEPTOR, r"Datagram\w*\.(receive\w*|blockingReceive\w*)", only_near_run=True),
    NativeRule(
        "connection",
        CONNECTION,
        r"(NioSocketImpl|SocketChannelImpl|SocketDispatcher|Net|\w*InputStream)\.(read\w*|implRead|poll)",
        only_near_run=True,
    ),
)
"""Tried in this order on every frame, the innermost first; `connection` counts where the process accepts connections, too."""

_CLIENT_CALLS = re.compile(
    r"(Https?URLConnection(Impl)?(\$\w+)?|Https?Client|FtpClient|FtpURLConnection|LdapClient|LdapRequest|StreamRemoteCall|SocksSocketImpl)\.\w+"
)
"""Clients, by the names of those of the JDK: who reads beneath one asked for something, and waits for the answer."""

_FITS: tuple[tuple[NativeRule, Callable[[str], re.Match[str] | None]], ...] = tuple(
    (rule, re.compile(rule.frames).fullmatch) for rule in NATIVE
)


def native_rule(wait: Wait) -> NativeRule | None:
    """Return the rule for a thread in a native call; None where it does not wait for work.

    A connection is only one if its process accepts connections: whoever asks knows.
    """
    is_near = wait.is_near_run and bool(wait.own) and not wait.own[-1].endswith(".main")
    for rule, fits in _FITS:
        if rule.only_near_run and (not is_near or any(_CLIENT_CALLS.fullmatch(call) for call in wait.calls)):
            continue
        if any(fits(call) for call in wait.calls):
            return rule
    return None
