"""Runs untrusted SQL on a recording: it can read the recording's own tables, and can write nothing.

Two walls, each whole by itself. The query is taken apart before it runs: tables only by the names of the recording's own,
and no function that reads files, settings or the environment. Then DuckDB is shut off: the tables' files stay allowed, no
other file, no spill folder, no extension, and the settings can't be changed back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.store import sql

if TYPE_CHECKING:
    import duckdb

    from headway.store.reader import Recording

TABLE_FUNCTIONS = {"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"}
"""Those that make rows of nothing but their arguments."""
_REFUSED = {"getenv", "current_setting", "getvariable", "write_log", "nextval", "currval", "read_text", "read_blob"}
_REFUSED |= {"query", "query_table", "json_execute_serialized_sql"}
_SHOWS = {"", "tables"}
_NAME = re.compile(r"\w+", re.ASCII)
_TOO_DEEP = "it is nested too deeply to be checked"


def run(recording: Recording, text: str) -> duckdb.DuckDBPyConnection:
    """Run one SELECT on a recording in a sandbox and return its result, to be fetched from.

    Raises HeadwayError HW406 (not a single SELECT), HW306 (DuckDB refuses, or it reads something else) or HW316 (it needs more
    memory than there is).
    """
    import duckdb

    try:
        statements = duckdb.extract_statements(text)
    except duckdb.Error as error:
        raise HeadwayError("HW306", reason=str(error).strip(), path=recording.path) from error
    kinds = [statement.type.name for statement in statements]
    if kinds != ["SELECT"]:
        raise HeadwayError("HW406", path=recording.path, found=" and ".join(kinds) or "empty")
    connection = recording.connection()
    names = recording.table_names()
    reason = _why_refused(_parts(connection, text), {name.casefold() for name in names})
    if reason is not None:
        raise HeadwayError("HW306", reason=reason, path=recording.path)
    files = [os.fspath(recording.file(name)) for name in names if name in recording.manifest.tables]
    # The views name their files as patterns that mean exactly one: DuckDB asks for a pattern's permission, too.
    shut_off(connection, [*files, *map(sql.glob_text, files)])
    return recording.query(text)


def shut_off(connection: duckdb.DuckDBPyConnection, files: list[str]) -> None:
    """Restrict a connection to these files, for good; everything must fit in memory from then on."""
    connection.execute("SET temp_directory = ''")
    connection.execute("SET allowed_paths = $1", [files])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _parts(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    """Return the query as DuckDB parses it; a text says why it can't be had."""
    import duckdb

    try:
        found = connection.execute("SELECT json_serialize_sql($1)", [text]).fetchone()
        assert found is not None
        tree = json.loads(found[0])
    except (duckdb.Error, ValueError) as error:
        return str(error)
    except RecursionError:
        return _TOO_DEEP
    return str(tree.get("error_message")) if tree.get("error") else tree["statements"]


def _why_refused(tree: Any, tables: Collection[str]) -> str | None:
    """Return why a parsed query may not run, None if it may. `tables`: the names it may read, in lower case."""
    if isinstance(tree, str):
        return tree
    nodes = list(_nodes(tree))
    own = {name.casefold() for node in nodes for name in _named_queries(node) if _NAME.fullmatch(name)}
    for node in nodes:
        kind, function = node.get("type"), str(node.get("function_name", "")).casefold()
        if kind == "TABLE_FUNCTION":
            name = str((node.get("function") or {}).get("function_name", "")).casefold()
            if name not in TABLE_FUNCTIONS:
                return f"queries read the tables of the recording, and nothing by way of {name or 'a function'}"
        elif kind == "BASE_TABLE":
            name = str(node.get("table_name", ""))
            place = {str(node.get(key) or "").casefold() for key in ("catalog_name", "schema_name")}
            if not place <= {"", "memory", "main"} or name.casefold() not in {*tables, *own}:
                return f"{name} is no table of the recording"
        elif kind == "SHOW_REF" and str(node.get("table_name", "")).strip('"').casefold() not in {*_SHOWS, *tables}:
            return f"{node.get('table_name')} is no table of the recording"
        if node.get("class") == "FUNCTION" and function in _REFUSED:
            return f"queries read the tables of the recording, and nothing by way of {function}"
    return None


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a parsed query."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


def _named_queries(node: dict[str, Any]) -> Iterator[str]:
    """Yield the names that WITH gives in a node."""
    for each in (node.get("cte_map") or {}).get("map") or ():
        yield str(each.get("key", ""))
