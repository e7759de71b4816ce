"""Rows as people see them: lines of text, and tables in notebooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

#: Rows that are shown where nobody says how many.
FIRST_ROWS = 20
_WIDEST_CELL = 80
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHORT = {
    "\0": "\\0", "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f",
    "\r": "\\r", "\x1b": "\\e",
}


def _cell(value: Any) -> str:
    """A value on one line of a terminal, which obeys no control characters in it.

    >>> print(_cell("a\\tb\\x1b[1m"), _cell(None))
    a\\tb\\e[1m NULL
    """
    text = "NULL" if value is None else str(value)
    text = _CONTROL.sub(lambda found: _SHORT.get(found[0], f"\\x{ord(found[0]):02x}"), text[:_WIDEST_CELL + 1])
    return text if len(text) <= _WIDEST_CELL else text[: _WIDEST_CELL - 1] + "…"


def escaped(text: str) -> str:
    """A text as HTML has it."""
    import html  # its list of names takes longer to import than most of the package

    return html.escape(text)


def _counted(rows: int, shown: int) -> str:
    return f"{rows} row{'' if rows == 1 else 's'}" + (f", {shown} shown" if rows > shown else "")


def _are_numbers(found: Sequence[tuple[Any, ...]], columns: int) -> list[bool]:
    return [bool(found) and isinstance(found[0][i], (int, float)) for i in range(columns)]


def as_text(names: Sequence[str], found: Sequence[tuple[Any, ...]], rows: int) -> str:
    """The first rows, as columns of text, and how many there are."""
    cells = [[_cell(value) for value in row] for row in found]
    heads = [_cell(name) for name in names]
    widths = [max(len(name), *(len(row[i]) for row in cells), 0) for i, name in enumerate(heads)]
    numbers = _are_numbers(found, len(names))
    lines = [
        "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in zip(row, widths, numbers))
        for row in [heads, *cells]
    ]
    return "\n".join(line.rstrip() for line in [*lines, _counted(rows, len(found))])


def as_html(names: Sequence[str], found: Sequence[tuple[Any, ...]], rows: int) -> str:
    """The same for a notebook.

    >>> as_html(["a"], [("<b>",)], 2)
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table><p>2 rows, 1 shown</p>'
    """
    def line(cells: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escaped(_cell(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in found)
    return (f"<table><thead>{line(names, 'th')}</thead><tbody>{body}</tbody></table>"
            f"<p>{_counted(rows, len(found))}</p>")
