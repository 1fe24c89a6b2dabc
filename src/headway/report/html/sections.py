"""The sections of the report that are an analysis's own words: what the seam gives (report/analysis.py), within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from headway.errors import HeadwayError, Notice
from headway.report.html.flame_pack import json_bytes
from headway.report.html.text import cut
from headway.report.registry import Plugin, added_analyses, analysis, own_analyses

if TYPE_CHECKING:
    from headway.report.section import Cell, HeatMap, Scatter, Section, Table
    from headway.store import Recording

Sections: TypeAlias = "tuple[list[dict[str, Any]], tuple[Notice, ...]]"
"""Payloads of sections, and what weakens their figures."""

SECTION_BYTES = 60_000
SECTIONS_BYTES = 300_000
"""Of all sections together: a part of what a page may hold, whoever adds how many."""
MAX_ROWS = 200
MAX_HEAT = 40
MAX_TABLES = 8
MAX_SENTENCES = 40
TEXT_CHARS = 600
CELL_CHARS = 120


def sections(recording: Recording) -> Sections:
    """Return the sections of analyses without a view, headway's own and added, and the notices of those that answer or fail."""
    found, notices, room = [], list[Notice](), SECTIONS_BYTES
    for plugin in [*_own(recording), *added_analyses()]:
        try:
            with plugin.named():
                asked = analysis(plugin)
                section = asked.section(asked.run(recording, None))
                if section is None:
                    continue
                if not all(isinstance(each, Notice) for each in section.notices):
                    raise TypeError("its section has notices that are no Notice")
                payload = _within(min(room, SECTION_BYTES), plugin, section)
            found.append(payload)
            notices += section.notices
            room -= json_bytes(payload)
        except HeadwayError as error:
            notices.append(error.notice)
    return found, tuple(notices)


def _own(recording: Recording) -> list[Plugin]:
    """Return headway's own analyses whose section is shown: most have a view instead."""
    return [plugin for plugin in own_analyses() if analysis(plugin).has_section(recording)]


def _within(room: int, plugin: Plugin, section: Section) -> dict[str, Any]:
    """Return the payload of a section of at most `room` bytes, with as many rows of its tables as fit."""
    rows = MAX_ROWS
    while json_bytes(payload := _payload(plugin, section, rows)) > room:
        if rows == 0:
            raise ValueError(f"its section takes more than the {room} bytes that the report has left for it")
        rows //= 2
    return payload


def _payload(plugin: Plugin, section: Section, rows: int) -> dict[str, Any]:
    return {
        "name": cut(plugin.name, CELL_CHARS),
        "package": cut(plugin.package or "headway", CELL_CHARS),
        "title": cut(section.title, CELL_CHARS),
        "sentences": [cut(sentence, TEXT_CHARS) for sentence in section.sentences[:MAX_SENTENCES]],
        "tables": [_table(table, rows) for table in section.tables[:MAX_TABLES]],
        "scatter": None if section.scatter is None else _scatter(section.scatter, rows),
        "heat_map": None if section.heat_map is None else _heat_map(section.heat_map, min(rows, MAX_HEAT)),
    }


def _scatter(scatter: Scatter, rows: int) -> dict[str, Any]:
    """Return the points that fit, the reader's own one among them."""
    own = [each for each in scatter.points if each[0] == scatter.own][:1]
    others = [each for each in scatter.points if each[0] != scatter.own]
    return {
        "title": cut(scatter.title, CELL_CHARS),
        "axes": [cut(each, CELL_CHARS) for each in scatter.axes],
        "points": [{"name": cut(name, CELL_CHARS), "figures": list(figures)} for name, figures in own + others[:rows]],
        "has_own": bool(own),
    }


def _heat_map(heat: HeatMap, most: int) -> dict[str, Any]:
    """Return the part of a heat map that fits the page; a row's sum is of all its columns, those left out too."""
    rows = [
        {
            "name": cut(row.name, CELL_CHARS),
            "cells": [list(each) for each in row.cells[:most]],
            "groups": [list(each) for each in row.groups],
            "own": row.own if row.own is not None and row.own < most else None,
        }
        for row in heat.rows[:most]
    ]
    return {
        "title": cut(heat.title, CELL_CHARS),
        "kinds": [cut(each, CELL_CHARS) for each in heat.kinds],
        "groups": [cut(each, CELL_CHARS) for each in heat.groups],
        "columns": [cut(each, CELL_CHARS) for each in heat.columns[:most]],
        "rows": rows,
        "marks": cut(heat.marks, CELL_CHARS),
        "left_out": max(0, len(heat.rows) - most) + max(0, len(heat.columns) - most),
    }


def _table(table: Table, rows: int) -> dict[str, Any]:
    return {
        "title": cut(table.title, CELL_CHARS),
        "columns": [cut(column, CELL_CHARS) for column in table.columns],
        "rows": [[_cell(each) for each in row] for row in table.rows[:rows]],
        "left_out": max(0, len(table.rows) - rows),
    }


def _cell(value: Cell) -> Cell:
    return cut(value, CELL_CHARS) if isinstance(value, str) else value
