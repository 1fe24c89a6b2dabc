"""Where headway.model.wire says fields lie is where a C compiler puts them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from headway.model import wire

RECORDS = Path(__file__).resolve().parents[3] / "native" / "wire" / "records.h"
STRUCTS = ("hw_spool_header", "hw_lock_header", "hw_lock_slot", "hw_record", "hw_stack_frame")


def test_offsets_sizes_and_constants_are_those_of_the_compiler(tmp_path: Path) -> None:
    asked = [f"sizeof(struct {name})" for name in STRUCTS]
    said = [getattr(wire, f"{name.upper()}_BYTES") for name in STRUCTS]
    for name in STRUCTS:
        for field, where in getattr(wire, name.upper()).items():
            asked += [f"offsetof(struct {name}, {field})", f"sizeof(((struct {name}*)0)->{field})"]
            said += [where.offset, int(re.sub(r"^[<u iV]+", "", where.form))]
    numbers = {name: value for name, value in vars(wire).items() if name.startswith("HW_") and isinstance(value, int)}
    numbers = {name: value for name, value in numbers.items() if name.removesuffix("_BYTES").lower() not in STRUCTS}
    asked += list(numbers)
    said += list(numbers.values())
    lines = "".join(f'  printf("%ld\\n", (long)({each}));\n' for each in asked)
    source = tmp_path / "layout.c"
    source.write_text(f'#include <stddef.h>\n#include <stdio.h>\n#include "{RECORDS}"\nint main(void) {{\n{lines}}}\n')
    subprocess.run(["cc", "-o", tmp_path / "layout", source], check=True, timeout=60)
    done = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True, timeout=60)
    assert list(map(int, done.stdout.split())) == said
    assert len(said) > 150
    assert (wire.HW_SPOOL_MAGIC, wire.HW_LOCK_MAGIC) == (b"HWSPOOL\0", b"HWLOCKS\0")
