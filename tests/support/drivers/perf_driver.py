"""Command: records a program with the perf collector alone, as the current user, and prints the collector's figures.

Arguments: spool directory, ring bytes (0: automatic), drain interval in ms, command... The command starts once the line
"ready PID" is answered on standard input, so that a second recorder may be put beside this one.
"""

from __future__ import annotations

import json
import os
import sys

from headway import _native


def main() -> None:
    """Record the program, and print the figures as JSON."""
    spool, ring_bytes, drain_ms, *command = sys.argv[1:]
    go_read, go_write = os.pipe()
    out_read, out_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(out_write, 1)
        os.read(go_read, 1)
        os.execvp(command[0], command)
    os.close(out_write)
    collector = _native.PerfCollector(spool, int(ring_bytes), int(drain_ms))
    collector.add_process(child)
    collector.start()
    print("ready", child, flush=True)
    sys.stdin.readline()
    os.write(go_write, b"1")
    with os.fdopen(out_read) as output:
        text = output.read()
    os.waitpid(child, 0)
    stats = collector.stop()
    print(json.dumps({"stats": stats, "output": text}))


if __name__ == "__main__":
    main()
