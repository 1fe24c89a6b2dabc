"""The terminal report: the verdict first, then tables that fit 80 columns, then what weakens the figures."""

from headway.report.terminal.overview import render_overview
from headway.report.terminal.printing.console import make_console, print_line, print_table, print_withholding_reasons
from headway.report.terminal.printing.notices import print_notices

__all__ = ["make_console", "print_line", "print_notices", "print_table", "print_withholding_reasons", "render_overview"]
