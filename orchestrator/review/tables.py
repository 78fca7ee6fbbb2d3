"""Numbers and tables as text."""

import math
from typing import Any

from pandas import DataFrame, Series
from pandas.api.types import is_numeric_dtype, is_string_dtype

FORMULA = ("=", "+", "-", "@")
"""How a cell begins that spreadsheets run when the file is opened, perhaps after a tab."""


def number(value: float) -> str:
    """A number for people; a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def in_seconds(table: DataFrame) -> DataFrame:
    """A table of durations with two decimals: nobody needs a hundredth of a millisecond."""
    return table.map(lambda cell: f"{cell:.2f}" if isinstance(cell, float) else cell)


def markdown(table: DataFrame) -> str:
    """A table as Markdown."""
    texts = _texts(table)
    rows = [texts.columns.tolist(), ["---"] * len(texts.columns), *texts.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def latex(table: DataFrame) -> str:
    """A table as LaTeX, for booktabs: the first column words, the others figures."""
    return _texts(table).to_latex(index=False, escape=True, column_format="l" + "r" * (len(table.columns) - 1))


def csv(table: DataFrame) -> str:
    """A table as CSV in which no text - a cell or a heading - is a formula to a spreadsheet."""
    return table.apply(_harmless_cells).rename(columns=_harmless).to_csv(index=False)


def _harmless_cells(column: "Series[Any]") -> "Series[Any]":
    """A long table is numbers and few words, again and again: those are asked once each."""
    if is_numeric_dtype(column) or (
        is_string_dtype(column) and all(_harmless(w) == w for w in column.dropna().unique())
    ):
        return column
    return column.map(_harmless)


def _harmless(cell: object) -> object:
    """Text that a spreadsheet would run gets the apostrophe by which spreadsheets know text; numbers stay numbers."""
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r", " ")  # unquoted by the writer, and the end of a row to readers
    return f"'{text}" if text.lstrip().startswith(FORMULA) and not _is_numeral(text) else text


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _texts(table: DataFrame) -> DataFrame:
    return table.astype(str).rename(columns=lambda column: str(column).replace("_", " "))
