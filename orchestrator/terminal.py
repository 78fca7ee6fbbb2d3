"""What is printed on a terminal: tables that read at its width, and whatever a user wrote as it was written.

Rich reads square brackets as markup, and terminals read escape codes: neither may come from a name or a message.
"""

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console
    from rich.table import Table

PROSE = 40
"""Texts longer than this may be broken into lines; names and numbers are not."""
GAP = 2
LOG_WIDTH = 200
"""Of tables in a log."""


def plain(text: str) -> str:
    """One line without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def counted(count: int, one: str, several: str) -> str:
    """So many of something, in words that agree."""
    return f"{count} {one if count == 1 else several}"


def print_error(message: str) -> None:
    """One line on standard error, whatever an exception or a file's name brought along."""
    print(f"error: {plain(message)}", file=sys.stderr, flush=True)


def print_text(text: str) -> None:
    """A sentence or more, broken between words where there is an edge to break at."""
    console, line = _console(), plain(text)
    edge = console.is_terminal or os.environ.get("COLUMNS")
    print(
        textwrap.fill(line, console.width, break_long_words=False, break_on_hyphens=False) if edge else line, flush=True
    )


def _console() -> "Console":
    """As wide as the terminal; a log has no edge, unless COLUMNS says where."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = LOG_WIDTH
    return console


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading and its cells."""

    heading: str
    cells: Sequence[str]

    @property
    def is_text(self) -> bool:
        """Whether it holds words rather than numbers."""
        return any(cell[:1].isalpha() and cell != "nan" for cell in self.cells)

    @property
    def is_prose(self) -> bool:
        """Whether its cells may be broken into lines."""
        return self.is_text and max(map(len, self.cells)) > PROSE

    @property
    def natural_width(self) -> int:
        """What it needs where nothing is broken."""
        return max(map(len, [self.heading, *self.cells]))

    @property
    def least_width(self) -> int:
        """What it needs when its heading is broken between words, and prose anywhere."""
        cells = [PROSE] if self.is_prose else [len(cell) for cell in self.cells]
        return max([*cells, *(len(word) for word in self.heading.split())], default=0)


def print_frame(title: str, frame: "DataFrame") -> None:
    """Print a table of pandas'."""
    rows = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in frame.itertuples(index=False)]
    print_table(title, [str(c).replace("_", " ") for c in frame.columns], rows)


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; one that is wider than the terminal is broken into several, each with the first column."""
    from rich.text import Text

    console = _console()
    columns = [Column(h, [plain(row[i]) for row in rows]) for i, h in enumerate(headings)]
    console.print(Text(plain(title), style="italic"))
    for part in fitting(columns, console.width):
        console.print(_table(part, roomy=_total(c.natural_width for c in part) <= console.width))


def fitting(columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """The columns in groups that fit, the first one in each of them; none for a table without columns."""
    part = list(columns[:1])
    for column in columns[1:]:
        if _total(c.least_width for c in [*part, column]) > width and len(part) > 1:
            yield part
            part = list(columns[:1])
        part.append(column)
    if part:
        yield part


def _total(widths: Iterable[int]) -> int:
    return sum(width + GAP for width in widths)


def _table(columns: Sequence[Column], roomy: bool) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False)
    for column in columns:
        width = None if roomy or column.is_prose else column.least_width
        table.add_column(Text(column.heading), justify="left" if column.is_text else "right", width=width)
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table
