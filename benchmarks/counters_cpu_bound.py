"""What a recording with four counters costs a CPU-bound program while it runs, by thread in mode ebpf: as overhead.py does it.

The counters are the kernel's own, in one group: they are read at every switch, as those of a processor are.
Target: CPU time with the recorder's at most 1 % more in the mean over the programs, at most 3 % for any.
"""

from __future__ import annotations

import sys
from functools import partial

import overhead
from counters_overhead import GROUPS
from lib import in_pairs

MEAN_TARGET, MAX_TARGET = 1.01, 1.03


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = in_pairs.arguments(__doc__, "recorded blocks per program (12; 5 with --quick)")
    parser.add_argument("--c1", action="store_true", help="only the JVM's first compiler")
    measure = partial(overhead.measure, recorder=("--mode", "ebpf", "--counters", GROUPS))
    summarise = partial(overhead.summarise, mean_target=MEAN_TARGET, max_target=MAX_TARGET)
    return in_pairs.carry_out("counters_cpu_bound", parser.parse_args(), measure, summarise)


if __name__ == "__main__":
    sys.exit(main())
