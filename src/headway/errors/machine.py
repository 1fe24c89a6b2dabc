"""HW1xx: what this machine allows."""

from __future__ import annotations

from headway.errors.message import Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW100",
        "recorded as an ordinary user (mode perf-switch)",
        "mode perf-switch ({reason}): a woken thread that waits for a CPU counts as blocked; no wakers, no stolen time",
        "Without CAP_BPF and CAP_PERFMON headway records PERF_RECORD_SWITCH: every switch of every thread of the process "
        "tree, but no wake-ups. 'Active' is then running, or preempted in the midst of work, so parallelism above the "
        "number of CPUs is underestimated. Each running interval lacks the microseconds of the switch itself. Totals of "
        "waiting and executed time come from /proc/PID/task/TID/schedstat, read about once a second.",
        "{command}",
    ),
    Message(
        "HW101",
        "recorded by the agent alone (mode agent)",
        "mode agent ({reason}): no thread states, hence no parallelism; only the life and CPU time of Java threads",
        "Neither eBPF nor perf events are open to this user here (perf_event_paranoid 3 or more on Debian and Ubuntu, or "
        "a container's seccomp filter), so no scheduling record can be had. GC pauses are known from the agent.",
        "{command}",
    ),
    Message(
        "HW102",
        "the mode that was asked for can't be had here",
        "mode {mode} can't be had here: {reason}",
        "The mode was asked for by name, and this user on this machine may not use it.",
        "headway doctor",
    ),
)
