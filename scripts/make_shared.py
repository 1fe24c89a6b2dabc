"""Write what several languages share, from the one place where it is defined; `make reference` runs it.

- src/headway/model/wire.py: the constants, enumerations and layouts of files, from native/wire/records.h, and the bits of the
  column `flags` of slices, from native/wire/stored_slices.h
- native/wire/thread_kinds.h and native/lost_cores/causes.h: the kinds of threads and the causes of lost cores, from
  headway.model.kinds and headway.analyses.common.causes
- native/counters/event_names.h: the kernel's generic events, from headway.record.counters.events
- web/src/payload/TOPIC.ts: what Python puts into a page, from headway.report.html.payloads

With --check nothing is written; the exit code is 1 and the names are printed if a file is not what its source gives.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "native" / "wire" / "records.h"
STORED_SLICES = RECORDS.with_name("stored_slices.h")
PAYLOADS = ROOT / "src" / "headway" / "report" / "html" / "payloads"
TOPICS = ("common", "counters", "flame", "lost_cores", "placements", "recording", "sweep", "causal")
LINE = 120

# --- wire.py, from records.h ----------------------------------------------------------------------------------------

_SIZES = {"char": 1, "hw_u8": 1, "hw_u16": 2, "hw_u32": 4, "hw_i32": 4, "hw_u64": 8, "hw_i64": 8}
_FORMATS = {"hw_u8": "u1", "hw_u16": "<u2", "hw_u32": "<u4", "hw_i32": "<i4", "hw_u64": "<u8", "hw_i64": "<i8"}
_FIELD = re.compile(r"\s*(struct )?(\w+)\s+([\w\s,\[\]]+);")
_NAMED = re.compile(r"\s*(\w+)(?:\[(\w+)\])?\s*")
_WIRE_HEAD = '''"""The spool's wire format as Python reads it: its numbers, and where the fields of a file's header lie.

Made from native/wire/records.h and stored_slices.h by scripts/make_shared.py (make reference): change these, not this file.
"""

from typing import NamedTuple


class Field(NamedTuple):
    """Where a field lies in its struct, in bytes, and its numpy format; `V` and a size for what is no number."""

    offset: int
    form: str

'''


def wire() -> str:
    """Return the module with the constants and layouts of records.h."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", RECORDS.read_text(), flags=re.DOTALL)
    constants = dict(_constants(text))
    lines = [_WIRE_HEAD]
    lines += [f"{name} = {value!r}\n" for name, value in constants.items()]
    lines += [f"{name} = {value}\n" for name, value in _slice_flags()]
    for name, body in re.findall(r"struct (\w+) \{(.*?)\n\};", text, re.DOTALL):
        if "(*" not in body:
            fields, size = _layout(body, {key: value for key, value in constants.items() if isinstance(value, int)})
            if fields is not None:
                lines.append(f"\n{name.upper()}_BYTES = {size}\n{name.upper()} = {{\n")
                lines += [f'    "{field}": Field({offset}, "{form}"),\n' for field, offset, form in fields]
                lines.append("}\n")
    return _piped("".join(lines), ROOT / ".venv" / "bin" / "ruff", "format", "--stdin-filename=wire.py", "-")


def _constants(text: str) -> Iterator[tuple[str, int | bytes]]:
    for name, value in re.findall(r"^#define (HW_\w+) (\S+)$", text, re.MULTILINE):
        yield name, ast.literal_eval(f"b{value}") if value.startswith('"') else int(value, 0)
    for body in re.findall(r"enum \w+ \{(.*?)\}", text, re.DOTALL):
        for name, value in re.findall(r"(\w+) = ([^,]+)", body):
            yield name, int(eval(value.strip(), {"__builtins__": {}}))  # a number, or 1 << 3


def _slice_flags() -> Iterator[tuple[str, int]]:
    """Yield the bits of a slice's flags: kWakerIrq as SLICE_WAKER_IRQ."""
    body = re.search(r"enum SliceFlags : uint8_t \{(.*?)\}", STORED_SLICES.read_text(), re.DOTALL)
    assert body is not None
    for name, value in re.findall(r"k(\w+) = (\d+)", body[1]):
        yield "SLICE" + re.sub("[A-Z]", lambda match: f"_{match[0]}", name).upper(), int(value)


def _layout(body: str, constants: Mapping[str, int]) -> tuple[list[tuple[str, int, str]] | None, int]:
    """Return the fields of a struct with natural alignment, and its size; None for one that holds other structs."""
    fields, at, widest = [], 0, 1
    for is_struct, kind, names in _FIELD.findall(body):
        if is_struct or kind not in _SIZES:
            return None, 0
        size = _SIZES[kind]
        widest = max(widest, size)
        for name, count in (match.groups() for match in map(_NAMED.fullmatch, names.split(",")) if match):
            at = -(-at // size) * size
            many = 1 if count is None else constants.get(count) or int(count)
            form = _FORMATS[kind] if count is None and kind in _FORMATS else f"V{size * many}"
            fields.append((name, at, form))
            at += size * many
    return fields, -(-at // widest) * widest


# --- C++ headers, from Python ---------------------------------------------------------------------------------------

_CPP_HEAD = (
    "// Made from {source} by scripts/make_shared.py (make reference): change that, not this file.\n#pragma once\n\n"
)


def thread_kinds() -> str:
    """Return the header with the kinds of threads that are counted apart."""
    from headway.model.kinds import COUNTED, Kind

    names = ", ".join(f'"{kind}"' for kind in COUNTED)
    numbers = ", ".join(f"k{kind.capitalize()}Kind = {i}" for i, kind in enumerate((*COUNTED, Kind.HEADWAY)))
    return _cpp(
        _CPP_HEAD.format(source="src/headway/model/kinds.py")
        + "#include <cstdint>\n\nnamespace headway {\n\n"
        + f"constexpr uint8_t {numbers};\n"
        + f"constexpr int kKinds = {len(COUNTED)};  // counted each by itself; headway's own threads are not\n"
        + f"constexpr const char* kKindNames[kKinds] = {{{names}}};\n\n}}  // namespace headway\n"
    )


def causes() -> str:
    """Return the header with the causes of lost cores, in the order of CAUSES."""
    from headway.analyses.common import causes as module

    names = {value: name for name, value in vars(module).items() if name.isupper() and isinstance(value, str)}
    lines = [f"  k{''.join(part.capitalize() for part in names[cause].split('_'))}," for cause in module.CAUSES]
    return _cpp(
        _CPP_HEAD.format(source="src/headway/analyses/common/causes.py")
        + "#include <cstdint>\n\nnamespace headway {\n\nenum class Cause : uint8_t {\n"
        + "\n".join(lines).removesuffix(",")
        + f"\n}};\nconstexpr int kCauses = {len(module.CAUSES)};\n\n}}  // namespace headway\n"
    )


def event_names() -> str:
    """Return the header with the kernel's generic events by name."""
    from headway.record.counters import events

    found = [events.event(name) for name in events.generic_names()]
    rows = "\n".join(f'    {{"{each.name}", {each.config:#x}, {each.type}, {each.exercise}}},' for each in found)
    return _cpp(
        _CPP_HEAD.format(source="src/headway/record/counters/events.py")
        + "#include <cstdint>\n#include <string_view>\n\nnamespace headway {\n\n"
        + "struct NamedEvent {\n  std::string_view name;\n  uint64_t config;\n  uint32_t type;\n"
        + "  uint32_t exercise;  // see Exercise of known_loop.h\n};\n\n"
        + "// clang-format off\n"
        + f"constexpr NamedEvent kNamedEvents[] = {{\n{rows}\n}};\n"
        + "// clang-format on\n\n}  // namespace headway\n"
    )


def _cpp(text: str) -> str:
    return _piped(text, "clang-format", f"--assume-filename={RECORDS}")


# --- TypeScript, from TypedDicts ------------------------------------------------------------------------------------

_BY = "by scripts/make_shared.py (make reference): change that, not this file."
_PLAIN = {"int": "number", "float": "number", "str": "string", "bool": "boolean", "None": "null"}


def payload(topic: str) -> str:
    """Return the TypeScript of a module of payload types: its vocabularies, aliases and TypedDicts, with their docstrings."""
    source = (PAYLOADS / f"{topic}.py").read_text()
    tree = ast.parse(source)
    module: Any = importlib.import_module(f"headway.report.html.payloads.{topic}")
    lead = (ast.get_docstring(tree) or "").split("\n")
    parts = [f"// {line}\n" if line else "//\n" for line in lead]
    parts.append(
        "// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.\n"
    )
    parts += [
        _imports(node) for node in tree.body if isinstance(node, ast.ImportFrom) and "payloads" in (node.module or "")
    ]
    for name, (kind, values) in getattr(module, "VOCABULARIES", {}).items():
        entries = "".join(f'  "{value}",\n' for value in values)
        parts.append(
            f"\nexport const {name} = [\n{entries}] as const;\nexport type {kind} = (typeof {name})[number];\n"
        )
    known = {kind for kind, _ in getattr(module, "VOCABULARIES", {}).values()}
    for node, following in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef):
            parts.append(_interface(node))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id not in known:
            parts.append(_alias(node, following))
    return _formatted("".join(parts))


def _own_name(name: str) -> str:
    """Return a class's name in TypeScript: there, what a page holds is all there is, and needs no `Payload` behind its name."""
    return name.removesuffix("Payload") or name


def _imports(node: ast.ImportFrom) -> str:
    names = ", ".join(sorted(_own_name(alias.name) for alias in node.names))
    return f'import type {{ {names} }} from "./{(node.module or "").rpartition(".")[2]}";\n'


def _alias(node: ast.AnnAssign, following: ast.stmt | None) -> str:
    """Return the type of `Name: TypeAlias = "..."`. Raises ValueError for any other assignment: it would be missing."""
    assert isinstance(node.target, ast.Name)
    if not isinstance(node.value, ast.Constant) or not isinstance(node.value.value, str):
        raise ValueError(f"{node.target.id}, line {node.lineno}: only an alias in quotes can be written as TypeScript")
    comment = _comment(_text_of(following), "")
    return f"\n{comment}export type {node.target.id} = {_typed(ast.parse(node.value.value, mode='eval').body)};\n"


def _interface(node: ast.ClassDef) -> str:
    bases = [_own_name(base.id) for base in node.bases if isinstance(base, ast.Name) and base.id != "TypedDict"]
    extends = f" extends {', '.join(bases)}" if bases else ""
    lines = [f"\n{_comment(ast.get_docstring(node), '')}export interface {_own_name(node.name)}{extends} {{\n"]
    for field, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            lines.append(_comment(_text_of(following), "  "))
            kind, optional = field.annotation, ""
            if isinstance(kind, ast.Subscript) and isinstance(kind.value, ast.Name) and kind.value.id == "NotRequired":
                kind, optional = kind.slice, "?"
            lines.append(f"  {field.target.id.removesuffix('_')}{optional}: {_typed(kind)};\n")
    return "".join([*lines, "}\n"])


def _text_of(node: ast.stmt | None) -> str | None:
    """Return the text of a docstring that stands behind what it is about."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return None


def _comment(text: str | None, indent: str) -> str:
    return "" if text is None else f"{indent}/** {' '.join(text.split())} */\n"


def _typed(node: ast.expr) -> str:
    """Return an annotation as TypeScript."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _typed(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.Constant):
        return "null"
    if isinstance(node, ast.Name):
        return _PLAIN.get(node.id, _own_name(node.id))
    if isinstance(node, ast.BinOp):
        return f"{_typed(node.left)} | {_typed(node.right)}"
    assert isinstance(node, ast.Subscript), ast.dump(node)
    assert isinstance(node.value, ast.Name), ast.dump(node)
    args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if node.value.id == "Literal":
        values = [arg.value for arg in args if isinstance(arg, ast.Constant)]
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
    kinds = [_typed(arg) for arg in args]
    if node.value.id == "list":
        return f"({kinds[0]})[]" if "|" in kinds[0] else f"{kinds[0]}[]"
    if node.value.id == "dict":
        return f"Record<{kinds[0]}, {kinds[1]}>"
    assert node.value.id == "tuple", ast.dump(node)
    return f"[{', '.join(kinds)}]"


def _formatted(text: str) -> str:
    """Return TypeScript as the page's formatter has it."""
    return _piped(text, ROOT / "web" / "node_modules" / ".bin" / "biome", "format", "--stdin-file-path=a.ts")


def _piped(text: str, *command: str | Path) -> str:
    """Return what a formatter makes of a text; it is run in web/, where Biome's settings are."""
    done = subprocess.run([*map(str, command)], cwd=ROOT / "web", input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} can't format what was made:\n{done.stderr}\n{text}")
    return done.stdout


FILES: Mapping[Path, Callable[[], str]] = {
    ROOT / "src" / "headway" / "model" / "wire.py": wire,
    ROOT / "native" / "wire" / "thread_kinds.h": thread_kinds,
    ROOT / "native" / "counters" / "event_names.h": event_names,
    ROOT / "native" / "lost_cores" / "causes.h": causes,
    **{ROOT / "web" / "src" / "payload" / f"{topic}.ts": functools.partial(payload, topic) for topic in TOPICS},
}


def main() -> int:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args().check
    stale = []
    for path, generate in FILES.items():  # wire.py first: what the others are made of is read with it
        text = generate()
        if path.is_file() and path.read_text() == text:
            continue
        stale.append(path)
        if check:
            print(f"{path.relative_to(ROOT)} is stale: run 'make reference'")
        else:
            path.write_text(text)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
