"""The script that runs in the guest of two nodes: has the stages of the scripts beside it.

Argument: the folder of what was compiled for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from guests import accessing_in_guest as accessing
from guests import counting_in_guest as counting
from guests import mapping_in_guest as mapping
from guests import placing_in_guest as placing
from support.drivers.guest_stages import serve

STAGES = (placing.memory, placing.shared, placing.balanced, placing.changes)
STAGES_OF_FOLDER = (
    *(placing.placed, placing.looked_at, placing.recorded, placing.memory_of_a_jvm, mapping.mapped),
    *(counting.unplugged, counting.plugged_in, accessing.accessed),
)

if __name__ == "__main__":
    stages: dict[str, Callable[[], dict[str, Any]]] = {each.__name__: each for each in STAGES}
    stages |= {each.__name__: partial(each, sys.argv[1]) for each in STAGES_OF_FOLDER}
    serve(stages)
